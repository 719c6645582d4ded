"""What the functions have in common: how tokens lie, and where documents end."""
from typing import List, Sequence

import torch
from torch import Tensor


def lengths_of(cu_seqlens) -> List[int]:
    """Cumulative lengths [0, 5, 12, ...] -> [5, 7, ...]."""
    ends = cu_seqlens.tolist() if isinstance(cu_seqlens, Tensor) else list(cu_seqlens)
    lengths = [end - begin for begin, end in zip(ends, ends[1:])]
    if not lengths or ends[0] != 0 or min(lengths) < 1:
        raise ValueError(f"cu_seqlens is {ends}, expected 0 and growing numbers")
    return lengths


def check_packed(x: Tensor, lengths: Sequence[int]) -> None:
    if x.shape[0] != 1 or sum(lengths) != x.shape[1]:
        raise ValueError(f"cu_seqlens ends at {sum(lengths)}, expected one row of so many tokens, not "
                         f"{x.shape[0]} of {x.shape[1]}")


def wide(x: Tensor) -> Tensor:
    """float32, or float64 as it is."""
    return x if x.dtype == torch.float64 else x.float()


def heads_first(x: Tensor) -> Tensor:
    return x.transpose(1, 2)
