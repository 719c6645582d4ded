"""What the authors' layers are made of. Parameters stay float32; the type of the input is the type of the products."""
import math
from typing import List

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ._library import ops
from .tokens import wide


class Linear(nn.Linear):
    """In the type of the input, whatever the weight is kept in."""

    def forward(self, x: Tensor) -> Tensor:
        return ops.linear(x, self.weight, self.bias)


class RMSNorm(nn.Module):
    def __init__(self, width: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return ops.rms_norm(x, self.weight, self.eps)


def inverse_softplus(y: float) -> float:
    return y + math.log(-math.expm1(-y))


def split(x: Tensor, heads: int) -> Tensor:
    """[B, T, M] -> [B, T, heads, M / heads]"""
    return x.unflatten(-1, (heads, x.shape[-1] // heads))


def head_count(width: int, head: int, name: str) -> int:
    if head < 1 or width % head:
        raise ValueError(f"{name} {head} does not divide the width {width}")
    return width // head


def random_weights(heads: int, rows: int, columns: int, gain: float = 1.0) -> nn.Parameter:
    return nn.Parameter(torch.randn(heads, rows, columns) * gain / math.sqrt(columns))


class LowRankWeights(nn.Module):
    """w_left @ w_right + 0.5 * identity"""

    def __init__(self, heads: int, rows: int, columns: int, rank: int, gain: float):
        super().__init__()
        self.w_left = random_weights(heads, rows, rank, gain)
        self.w_right = random_weights(heads, rank, columns, gain)

    def forward(self) -> Tensor:
        left, right = wide(self.w_left), wide(self.w_right)
        return left @ right + 0.5 * torch.eye(left.shape[1], right.shape[2], dtype=left.dtype, device=left.device)


def fast_rates(raw: Tensor, heads: int, base: float, by_head: bool = True) -> List[Tensor]:
    """softplus(raw + softplus^-1(base)) as one tensor [B, T, H, channels] for each of the three matrices."""
    all_ = F.softplus(raw + inverse_softplus(base))
    shape = (heads, 3, -1) if by_head else (3, heads, -1)
    return list(all_.reshape(*raw.shape[:2], *shape).unbind(3 if by_head else 2))
