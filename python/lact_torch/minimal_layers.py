"""The layers of the authors' minimal code, with their constructor arguments and parameter names."""
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import layouts
from ._library import ops
from .lact import chunk_lact, update_rule
from .layer_parts import Linear, RMSNorm, fast_rates, head_count, random_weights, split
from .tokens import wide


class _MinimalLayer(nn.Module):
    """What the authors' two minimal layers share."""

    def __init__(self, dim: int, head_dim: int, inter_multi: float, base_lr: float, use_o_norm: bool, qk_l2_norm: bool,
                 **rule):
        super().__init__()
        self.num_heads = head_count(dim, head_dim, "head_dim")
        hidden = int(head_dim * inter_multi)
        self.base_lr, self.qk_l2_norm = base_lr, qk_l2_norm
        self.rule = update_rule(newton_schulz_coefficients="variable", **rule)
        self.to_qkv = Linear(dim, 3 * dim, bias=False)
        self.o_proj = Linear(dim, dim, bias=False)
        self.w0 = random_weights(self.num_heads, hidden, head_dim)
        self.w1 = random_weights(self.num_heads, head_dim, hidden)
        self.w2 = random_weights(self.num_heads, hidden, head_dim)
        self.lr_proj = Linear(dim, 3 * self.num_heads, bias=False)
        self.o_norm = RMSNorm(head_dim, 1e-5) if use_o_norm else nn.Identity()

    def _memory(self, x, q, k, v, momentum=None, **how):
        q, k, v = (split(y, self.num_heads) for y in (q, k, v))
        prepare = (lambda y: ops.silu_l2_norm(y, 1e-5)) if self.qk_l2_norm else F.silu
        rates = fast_rates(self.lr_proj(wide(x)), self.num_heads, self.base_lr)
        out, state = chunk_lact(prepare(q), prepare(k), F.silu(v), [self.w0, self.w1, self.w2], rates, momentum,
                                rule=self.rule, **how)
        return self.o_norm(out), state


class BidirectionalLaCTSwiGLU(_MinimalLayer):
    """Everything is written, then everything is read: sets, such as images."""

    def __init__(self, dim: int, head_dim: int, inter_multi: float = 1, base_lr: float = 0.01, use_muon: bool = False,
                 use_o_norm: bool = True, qk_l2_norm: bool = True):
        super().__init__(dim, head_dim, inter_multi, base_lr, use_o_norm, qk_l2_norm, muon=use_muon)

    def forward(self, x: Tensor) -> Tensor:
        out, _ = self._memory(x, *self.to_qkv(x).chunk(3, -1), order="full")
        return self.o_proj(out.flatten(2).to(x.dtype))


class CausalLaCTSwiGLUWithSlidingWindowAttn(_MinimalLayer):
    """The paper's algorithm 2 as the authors' minimal code has it: the window's queries and keys are rescaled, not the
    memory's."""

    def __init__(self, dim: int, head_dim: int, attn_head_dim: int, chunk_size: int, window_size: int,
                 inter_multi: float = 1, base_lr: float = 0.01, use_momentum: bool = False, use_muon: bool = False,
                 use_o_norm: bool = True, qk_l2_norm: bool = True):
        super().__init__(dim, head_dim, inter_multi, base_lr, use_o_norm, qk_l2_norm, muon=use_muon, momentum=use_momentum)
        self.attn_heads = head_count(dim, attn_head_dim, "attn_head_dim")
        self.chunk_size, self.window_size = chunk_size, window_size
        self.qk_scale = nn.Parameter(torch.ones(dim, 2))
        self.qk_offset = nn.Parameter(torch.zeros(dim, 2))
        self.ttt_scale_proj = Linear(dim, self.num_heads)
        self.momentum_proj = nn.Sequential(Linear(dim, self.num_heads), nn.Sigmoid()) if use_momentum else None

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.to_qkv(x).chunk(3, -1)
        scaled = (ops.scale_shift(y, self.qk_scale[:, i], self.qk_offset[:, i]) for i, y in enumerate((q, k)))
        local = ops.window_attention(*(split(y, self.attn_heads) for y in (*scaled, v)),
                                     layouts.sliding_window(x.shape[1], self.window_size), 0, 0)
        momentum = None if self.momentum_proj is None else self.momentum_proj(wide(x))
        distant, _ = self._memory(x, q, k, v, momentum, chunk_size=self.chunk_size)
        distant = distant * F.silu(self.ttt_scale_proj(x)).unsqueeze(-1)
        return self.o_proj(local.flatten(2) + distant.flatten(2).to(x.dtype))
