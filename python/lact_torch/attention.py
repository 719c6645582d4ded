"""Softmax attention inside of windows."""
import math
from typing import Optional

from torch import Tensor

from . import layouts
from ._library import ops
from .tokens import check_packed, lengths_of


def window_attention(q: Tensor, k: Tensor, v: Tensor, window_size: Optional[int] = None, *,
                     window: Optional[layouts.Window] = None, scale: Optional[float] = None, cu_seqlens=None,
                     first_query: int = 0, first_key: int = 0) -> Tensor:
    """Softmax attention [B, T, H, D] in which a query sees `window_size` keys, itself included (None: all before it), or
    what a window of lact_torch.layouts says. No [T, T] matrix is made. q holds the positions from first_query on, k and v
    those from first_key on."""
    count = q.shape[1]
    width = first_query + count if window_size is None else window_size
    if cu_seqlens is not None:
        lengths = lengths_of(cu_seqlens)
        check_packed(q, lengths)
        window = layouts.packed_windows(lengths, width)
    elif window is None:
        window = layouts.sliding_window(count, width, first_query, first_key)
    if scale is not None:
        q = q * (scale * math.sqrt(q.shape[-1]))
    return ops.window_attention(q, k, v, window, first_query, first_key)
