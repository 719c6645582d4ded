"""Causal sliding-window attention in plain PyTorch: q, k, v [T, heads, width]."""
import math

import torch
import torch.nn.functional as F

from common import dtype_of, maybe_compile

TILE = 512


def chunked(q, k, v, window):
    """Tiles of queries against the keys that they can see. [heads, T, width]."""
    outputs = []
    scale = 1 / math.sqrt(q.size(2))
    for begin in range(0, q.size(1), TILE):
        end = min(begin + TILE, q.size(1))
        first = max(0, begin - window + 1)
        scores = (q[:, begin:end] * scale) @ k[:, first:end].transpose(1, 2)
        position = torch.arange(begin, end)[:, None] - torch.arange(first, end)[None, :]
        hidden = (position < 0) | (position >= window)
        weights = torch.softmax(scores.masked_fill(hidden, float("-inf")).float(), -1).to(q.dtype)
        outputs.append(weights @ v[:, first:end])
    return torch.cat(outputs, 1)


def fused(q, k, v, window):
    """PyTorch's own attention on tiles."""
    outputs = []
    for begin in range(0, q.size(1), TILE):
        end = min(begin + TILE, q.size(1))
        first = max(0, begin - window + 1)
        position = torch.arange(begin, end)[:, None] - torch.arange(first, end)[None, :]
        seen = (position >= 0) & (position < window)
        outputs.append(F.scaled_dot_product_attention(q[None, :, begin:end], k[None, :, first:end],
                                                      v[None, :, first:end], attn_mask=seen)[0])
    return torch.cat(outputs, 1)


class Attention:
    """Draws the numbers that lact/bench/attention.cpp draws."""

    def __init__(self, tokens, window, heads, width, backward, form, precision, compile=False):
        torch.manual_seed(17)
        self.inputs = [torch.randn(1, tokens, heads, width).to(dtype_of(precision))[0].requires_grad_(backward)
                       for _ in range(3)]
        self.cotangent = torch.randn(1, tokens, heads, width).to(dtype_of(precision))[0]
        self.window, self.backward = window, backward
        self.attend = maybe_compile({"chunked": chunked, "fused": fused}[form], compile)

    def prepare(self):
        for x in self.inputs:
            x.grad = None

    def run(self):
        self.prepare()
        with torch.set_grad_enabled(self.backward):
            q, k, v = (x.transpose(0, 1) for x in self.inputs)
            out = self.attend(q, k, v, self.window).transpose(0, 1).contiguous()
        if self.backward:
            out.backward(self.cotangent)
        return out.detach()

    def tensors(self):
        return [self.run()] + [x.grad for x in self.inputs if x.grad is not None]
