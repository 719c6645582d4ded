"""The structure of a sequence, as torch.ops.lact takes it: a schedule says which tokens are written into the fast weights
and read, in which order (paper figure 3); a window says who attends to whom. Both are flat lists of numbers."""
from typing import List, NamedTuple, Optional, Sequence, Tuple

import torch

UPDATE_THEN_APPLY, APPLY_THEN_UPDATE, UPDATE, APPLY, RESTART = range(5)

Schedule = List[int]  # rows of operation, begin, end
Window = List[int]  # rows of queries' begin and end, keys' begin and end, band, ahead


def _chunks(begin: int, end: int, chunk: int):
    if chunk < 1:
        raise ValueError(f"a chunk of {chunk} tokens, expected at least 1")
    return [(first, min(first + chunk, end)) for first in range(begin, end, chunk)]


def full(tokens: int) -> Schedule:
    """Everything is written, then everything is read."""
    return [UPDATE_THEN_APPLY, 0, tokens]


def block_causal(tokens: int, chunk: int) -> Schedule:
    """Chunk after chunk, written and then read."""
    return [x for first, last in _chunks(0, tokens, chunk) for x in (UPDATE_THEN_APPLY, first, last)]


def shifted(tokens: int, chunk: int, first: int = 0) -> Schedule:
    """Chunk after chunk, read and then written: no token sees its own chunk. No one reads after the last one, which is
    not written. `first` is the place of the sequence in a row of several."""
    rows = []
    for begin, end in _chunks(first, first + tokens, chunk):
        rows += [APPLY if end == first + tokens else APPLY_THEN_UPDATE, begin, end]
    return rows


def shifted_piece(begin: int, tokens: int, chunk: int) -> Schedule:
    """Tokens [begin, begin + tokens) of an endless shifted schedule: a chunk is written when its last token arrives."""
    rows, end = [], begin + tokens
    for first, last in _chunks(begin // chunk * chunk, end, chunk):
        rows += [APPLY, max(first, begin), last]
        if last - first == chunk:
            rows += [UPDATE, first, last]
    return rows


def packed(lengths: Sequence[int], chunk: int) -> Schedule:
    """Documents one after the other, each a shifted schedule that begins with the initial weights."""
    rows, begin = [], 0
    for length in lengths:
        rows += ([RESTART, begin, begin] if begin else []) + shifted(length, chunk, begin)
        begin += length
    return rows


def moved(schedule: Schedule, by: int) -> Schedule:
    """The same for tokens that come so much later."""
    return [x + by if i % 3 else x for i, x in enumerate(schedule)]


def sliding_window(tokens: int, width: int, first: int = 0, first_key: int = 0) -> Window:
    """Queries [first, first + tokens) see `width` keys, themselves included, none before first_key."""
    return [first, first + tokens, max(first_key, first - width + 1), first + tokens, width, 0]


def packed_windows(lengths: Sequence[int], width: int) -> Window:
    """Sliding windows that end where a document begins."""
    rows, begin = [], 0
    for length in lengths:
        rows += sliding_window(length, width, begin, begin)
        begin += length
    return rows


def block_window(tokens: int, block: int) -> Window:
    """Everything inside of blocks of equal length, such as images; nothing between them."""
    if block < 1 or tokens % block:
        raise ValueError(f"{tokens} tokens do not divide into blocks of {block}")
    return [x for first, last in _chunks(0, tokens, block) for x in (first, last, first, last, 0, 0)]


class VideoLayout(NamedTuple):
    tokens: int
    schedule: Schedule
    window: Window
    positions: torch.Tensor  # [tokens, 3]: frame, row, column


def interleaved(chunks: int, grid: Tuple[int, int, int], repeats: int = 1,
                visible_clean: Optional[int] = None) -> VideoLayout:
    """Video with teacher forcing: [noisy × repeats, clean, noisy × repeats, ..., noisy × repeats]. Clean chunks are written
    and then read, noisy ones only read. A noisy chunk attends to itself and to the last `visible_clean` tokens of the
    clean chunk before it (None: all)."""
    frames, rows, columns = grid
    size = frames * rows * columns
    visible = size if visible_clean is None else visible_clean
    schedule, window, positions, begin, clean = [], [], [], 0, None
    for chunk in range(chunks):
        axes = (torch.arange(chunk * frames, (chunk + 1) * frames), torch.arange(rows), torch.arange(columns))
        here = torch.cartesian_prod(*axes).view(size, 3)
        schedule += [APPLY, begin, begin + repeats * size]
        for _ in range(repeats):
            queries = [begin, begin + size]
            if clean is not None and visible > 0:
                window += [*queries, clean - visible, clean, 0, 0]
            window += [*queries, *queries, 0, 0]
            positions.append(here)
            begin += size
        if chunk + 1 < chunks:
            clean = begin + size
            schedule += [UPDATE_THEN_APPLY, begin, clean]
            window += [begin, clean, begin, clean, 0, 0]
            positions.append(here)
            begin = clean
    return VideoLayout(begin, schedule, window, torch.cat(positions))
