"""The video model's layer, with the authors' constructor arguments and parameter names."""
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import layouts
from ._library import ops
from .lact import chunk_lact, update_rule
from .layer_parts import Linear, RMSNorm, fast_rates, head_count, random_weights, split
from .tokens import wide


class VideoLaCTSelfAttention(nn.Module):
    """The video model's self-attention, which is Wan's with a memory: RoPE over (frame, row, column), the window of a layout
    of layouts.interleaved."""

    def __init__(self, dim: int, num_heads: int, fw_head_dim: int, inter_multi: float = 1, qk_norm: bool = True,
                 o_norm: bool = True, lr_dim: int = 1, qk_l2_norm: bool = True, qkv_silu: bool = False,
                 l2_norm_before_silu: bool = True, use_momentum: bool = False, use_moun: bool = False,
                 num_moun_iters: int = 5, weight_norm: bool = True, ttt_scale: float = 1.0,
                 learnable_ttt_scale: bool = True, base_lr: float = 0.001):
        super().__init__()
        self.num_heads, self.memory_heads = num_heads, head_count(dim, fw_head_dim, "fw_head_dim")
        hidden = int(fw_head_dim * inter_multi)
        self.qk_l2_norm, self.qkv_silu, self.l2_norm_before_silu = qk_l2_norm, qkv_silu, l2_norm_before_silu
        self.ttt_scale, self.base_lr = ttt_scale, base_lr
        self.rule = update_rule(momentum=use_momentum, muon=use_moun, newton_schulz_steps=num_moun_iters,
                                norm="post" if weight_norm else "none")
        self.q, self.k, self.v, self.o = (Linear(dim, dim) for _ in range(4))
        self.norm_q = RMSNorm(dim, 1e-6) if qk_norm else nn.Identity()
        self.norm_k = RMSNorm(dim, 1e-6) if qk_norm else nn.Identity()
        self.qk_scale = nn.Parameter(torch.ones(dim, 2))
        self.qk_offset = nn.Parameter(torch.zeros(dim, 2))
        self.w0 = random_weights(self.memory_heads, hidden, fw_head_dim)
        self.w1 = random_weights(self.memory_heads, fw_head_dim, hidden)
        self.w2 = random_weights(self.memory_heads, hidden, fw_head_dim)
        self.lr_proj = Linear(dim, 3 * self.memory_heads * lr_dim)
        self.momentum_proj = nn.Sequential(Linear(dim, self.memory_heads), nn.Sigmoid()) if use_momentum else None
        self.output_norm = RMSNorm(fw_head_dim, 1e-6) if o_norm else nn.Identity()
        self.ttt_scale_proj = Linear(dim, 1) if learnable_ttt_scale else None
        if learnable_ttt_scale:  # a pretrained model begins unchanged
            nn.init.zeros_(self.ttt_scale_proj.weight)
            nn.init.zeros_(self.ttt_scale_proj.bias)

    def forward(self, x: Tensor, layout: layouts.VideoLayout) -> Tensor:
        q, k, v = self.norm_q(self.q(x)), self.norm_k(self.k(x)), self.v(x)
        angles = ops.rope_angles(layout.positions, x.shape[-1] // self.num_heads, 10000.0).to(x.device)

        def turned(y):
            return ops.rope(split(y, self.num_heads), angles, True)

        def prepared(y, column):
            y = turned(ops.scale_shift(y, self.qk_scale[:, column], self.qk_offset[:, column]))
            y = split(y.flatten(2), self.memory_heads)
            if self.qkv_silu and not self.l2_norm_before_silu:
                y = F.silu(y)
            if self.qk_l2_norm:
                y = ops.l2_norm(y, 1e-5)
            return F.silu(y) if self.qkv_silu and self.l2_norm_before_silu else y

        local = ops.window_attention(turned(q), turned(k), split(v, self.num_heads), layout.window, 0, 0)
        momentum = None if self.momentum_proj is None else self.momentum_proj(wide(x))
        distant, _ = chunk_lact(prepared(q, 0), prepared(k, 1),
                                split(F.silu(v) if self.qkv_silu else v, self.memory_heads), [self.w0, self.w1, self.w2],
                                fast_rates(self.lr_proj(wide(x)), self.memory_heads, self.base_lr), momentum,
                                order=layout.schedule, rule=self.rule)
        distant = self.output_norm(distant)
        if self.ttt_scale_proj is not None:
            distant = distant * F.silu(self.ttt_scale_proj(x)).unsqueeze(-1)
        else:
            distant = distant * self.ttt_scale
        return self.o(local.flatten(2) + distant.flatten(2).to(x.dtype))
