"""The authors' LaCT layers: constructor arguments and parameter names are theirs, so that their state dicts load. What lies
between projections is torch.ops.lact. Parameters stay float32; the type of the input is the type of the products."""
import math
from typing import List, NamedTuple, Optional, Sequence, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import layouts
from ._library import ops
from .functional import LactState, chunk_lact, lengths_of, start_state, update_rule, wide


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


class HybridState(NamedTuple):
    """Of a layer with window attention and a memory: what the memory knows, and the keys and values that the window still
    sees."""
    memory: LactState
    keys: Tensor
    values: Tensor

    @property
    def position(self) -> int:
        return self.memory.position


class LaCTSWIGLULayer(nn.Module):
    """The language model's layer (paper algorithm 2): sliding-window attention and a memory over shared q, k, v.

    forward(x) reads whole sequences [B, T, hidden_size]; advance(x, state) goes on from where another call ended, with the
    numbers of one pass, wherever the sequence is cut.
    """

    def __init__(self, hidden_size: int, num_attn_heads: int, num_lact_heads: int, inter_multi: float = 1,
                 window_size: int = 2048, lact_chunk_size: int = 2048, qkv_bias: bool = False, attn_qk_norm: bool = True,
                 qkv_silu: bool = True, no_v_silu: bool = False, lr_dim: int = 1, use_muon: bool = False,
                 lr_parameterization: str = "mamba", learnable_ttt_scale: bool = False, ttt_prenorm: bool = False,
                 ttt_nope: bool = False, rope_theta: float = 500000.0, max_position_embeddings: int = 2048,
                 w0_w2_low_rank: int = -1, use_momentum: bool = False, ttt_loss_type: str = "dot_product",
                 fw_init_gain: float = 0.5, layer_idx: Optional[int] = None, base_lr: float = 0.001):
        super().__init__()
        if lr_parameterization != "mamba" or ttt_loss_type != "dot_product":
            raise ValueError(f"lr_parameterization {lr_parameterization} and ttt_loss_type {ttt_loss_type}, expected mamba "
                             "and dot_product")
        width = head_count(hidden_size, num_lact_heads, "num_lact_heads")
        head_count(hidden_size, num_attn_heads, "num_attn_heads")
        hidden = int(width * inter_multi)
        self.num_attn_heads, self.num_lact_heads = num_attn_heads, num_lact_heads
        self.window_size, self.chunk_size = window_size, lact_chunk_size
        self.silu_qk, self.silu_v, self.rope_memory = qkv_silu, qkv_silu and not no_v_silu, not ttt_nope
        self.rope_theta, self.base_lr = rope_theta, base_lr
        self.rule = update_rule(momentum=use_momentum, muon=use_muon, newton_schulz_coefficients="variable",
                                norm="pre" if ttt_prenorm else "post")

        self.qkv = Linear(hidden_size, 3 * hidden_size, bias=qkv_bias)
        self.o_proj = Linear(hidden_size, hidden_size, bias=False)
        self.q_norm = RMSNorm(hidden_size, 1e-5) if attn_qk_norm else None
        self.k_norm = RMSNorm(hidden_size, 1e-5) if attn_qk_norm else None
        self.qk_scale = nn.Parameter(torch.ones(hidden_size, 2))
        self.qk_offset = nn.Parameter(torch.zeros(hidden_size, 2))
        if w0_w2_low_rank > 0:
            self.w0 = LowRankWeights(num_lact_heads, hidden, width, w0_w2_low_rank, fw_init_gain)
            self.w2 = LowRankWeights(num_lact_heads, hidden, width, w0_w2_low_rank, fw_init_gain)
        else:
            self.w0 = random_weights(num_lact_heads, hidden, width)
            self.w2 = random_weights(num_lact_heads, hidden, width)
        self.w1 = random_weights(num_lact_heads, width, hidden)
        self.lr_proj = Linear(hidden_size, 3 * num_lact_heads * lr_dim)
        self.momentum_proj = nn.Sequential(Linear(hidden_size, num_lact_heads), nn.Sigmoid()) if use_momentum else None
        self.ttt_norm = RMSNorm(width, 1e-5)
        self.ttt_scale_proj = Linear(hidden_size, num_lact_heads) if learnable_ttt_scale else None

    def weights(self) -> List[Tensor]:
        gate, up = (w() if isinstance(w, LowRankWeights) else w for w in (self.w0, self.w2))
        return [gate, self.w1, up]

    def forward(self, x: Tensor, cu_seqlens=None) -> Tensor:
        """cu_seqlens: the ends of several texts in one row, [0, 5, 12, ...], each of which is as it is alone."""
        if cu_seqlens is None:
            positions = torch.arange(x.shape[1])
            window = layouts.sliding_window(x.shape[1], self.window_size)
        else:
            lengths = lengths_of(cu_seqlens)
            positions = torch.cat([torch.arange(length) for length in lengths])
            window = layouts.packed_windows(lengths, self.window_size)
        q, k, v, angles = self._project(x, positions)
        local = ops.window_attention(*self._attention_heads(q, k, v, angles), window, 0, 0)
        distant, _ = self._memory(x, q, k, v, angles, cu_seqlens=cu_seqlens)
        return self._join(x, local, distant)

    def initial_state(self, batch: int) -> HybridState:
        head = self.o_proj.in_features // self.num_attn_heads
        empty = self.o_proj.weight.new_empty((batch, 0, self.num_attn_heads, head))
        return HybridState(start_state(self.weights(), self.rule, batch), empty, empty)

    def advance(self, x: Tensor, state: Optional[HybridState] = None) -> Tuple[Tensor, HybridState]:
        if state is None:
            state = self.initial_state(x.shape[0])
        begin, count = state.position, x.shape[1]
        q, k, v, angles = self._project(x, torch.arange(begin, begin + count))
        queries, keys, values = self._attention_heads(q, k, v, angles)
        keys, values = (torch.cat([kept.to(new.dtype), new], 1) for kept, new in ((state.keys, keys), (state.values, values)))
        first = begin + count - keys.shape[1]
        local = ops.window_attention(queries, keys, values,
                                     layouts.sliding_window(count, self.window_size, begin, first), begin, first)
        distant, memory = self._memory(x, q, k, v, angles, initial_state=state.memory, output_final_state=True)
        seen = max(0, keys.shape[1] - self.window_size + 1)
        return self._join(x, local, distant), HybridState(memory, keys[:, seen:], values[:, seen:])

    def _project(self, x, positions):
        q, k, v = self.qkv(x).chunk(3, -1)
        if self.q_norm is not None:
            q, k = self.q_norm(q), self.k_norm(k)
        angles = ops.rope_angles(positions.unsqueeze(1), q.shape[-1] // self.num_attn_heads, self.rope_theta).to(x.device)
        return q, k, v, angles

    def _attention_heads(self, q, k, v, angles):
        q, k, v = (split(y, self.num_attn_heads) for y in (q, k, v))
        return ops.rope(q, angles, False), ops.rope(k, angles, False), v

    def _prepare(self, y, column, angles):
        y = y * self.qk_scale[:, column].to(y.dtype) + self.qk_offset[:, column].to(y.dtype)
        y = split(y, self.num_lact_heads)
        y = ops.silu_l2_norm(y, 1e-5) if self.silu_qk else ops.l2_norm(y, 1e-5)
        if self.rope_memory:
            y = split(ops.rope(split(y.flatten(2), self.num_attn_heads), angles, False).flatten(2), self.num_lact_heads)
        return y

    def _memory(self, x, q, k, v, angles, **how):
        v = split(F.silu(v) if self.silu_v else v, self.num_lact_heads)
        momentum = None if self.momentum_proj is None else self.momentum_proj(wide(x))
        rates = fast_rates(self.lr_proj(wide(x)), self.num_lact_heads, self.base_lr)
        return chunk_lact(self._prepare(q, 0, angles), self._prepare(k, 1, angles), v, self.weights(), rates, momentum,
                          chunk_size=self.chunk_size, rule=self.rule, **how)

    def _join(self, x, local, distant):
        distant = self.ttt_norm(distant)
        if self.ttt_scale_proj is not None:
            distant = distant * F.silu(self.ttt_scale_proj(x)).unsqueeze(-1)
        return self.o_proj(local.flatten(2) + distant.flatten(2).to(x.dtype))


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
        scale, offset = self.qk_scale.to(x.dtype), self.qk_offset.to(x.dtype)
        local = ops.window_attention(split(q * scale[:, 0] + offset[:, 0], self.attn_heads),
                                     split(k * scale[:, 1] + offset[:, 1], self.attn_heads), split(v, self.attn_heads),
                                     layouts.sliding_window(x.shape[1], self.window_size), 0, 0)
        momentum = None if self.momentum_proj is None else self.momentum_proj(wide(x))
        distant, _ = self._memory(x, q, k, v, momentum, chunk_size=self.chunk_size)
        distant = distant * F.silu(self.ttt_scale_proj(x)).unsqueeze(-1)
        return self.o_proj(local.flatten(2) + distant.flatten(2).to(x.dtype))


class FastWeightGluMLPMultihead(nn.Module):
    """The view-synthesis layer: matrices are [in, out], Muon with fixed coefficients, no gradient through the norms."""

    def __init__(self, dim: int, head_dim: int, inter_multi: float = 1, bias: bool = False, base_lr: float = 0.01,
                 muon_update_steps: int = 0):
        super().__init__()
        self.num_heads = head_count(dim, head_dim, "head_dim")
        hidden = int(head_dim * inter_multi)
        self.base_lr = base_lr
        self.rule = update_rule(muon=True, newton_schulz_steps=muon_update_steps, detach_norm=True)

        def weights(inner, outer):
            return nn.Parameter(torch.randn(self.num_heads, inner, outer) * math.sqrt(2 / inner))

        self.w0, self.w1, self.w2 = weights(head_dim, hidden), weights(hidden, head_dim), weights(head_dim, hidden)
        self.to_qkv = Linear(dim, 3 * dim, bias=bias)
        self.c_proj = Linear(dim, dim, bias=bias)
        self.lr_fc = Linear(dim, 3 * self.num_heads)
        self.o_norm = RMSNorm(head_dim, 1e-5)

    def forward(self, x: Tensor, ttt_operators: Sequence[Tuple[int, int, bool, bool]],
                state: Optional[LactState] = None) -> Tuple[Tensor, LactState]:
        """ttt_operators: (begin, end, update, apply), in order. The output holds the tokens that were read, one range after
        the other; the state goes on to further views, or to rendering."""
        schedule, ranges = [], []
        for begin, end, update, apply in ttt_operators:
            if not update and not apply:
                raise ValueError(f"ttt_operators has an entry that does nothing: {(begin, end, update, apply)}")
            operation = layouts.UPDATE if not apply else layouts.UPDATE_THEN_APPLY if update else layouts.APPLY
            schedule += [operation, begin, end]
            ranges += [slice(begin, end)] if apply else []
        q, k, v = (split(y, self.num_heads) for y in self.to_qkv(x).chunk(3, -1))
        rates = fast_rates(self.lr_fc(wide(x)), self.num_heads, self.base_lr, by_head=False)
        weights = [w.transpose(-2, -1) for w in (self.w0, self.w1, self.w2)]
        out, state = chunk_lact(ops.silu_l2_norm(q, 1e-5), ops.silu_l2_norm(k, 1e-5), F.silu(v), weights, rates,
                                order=schedule, rule=self.rule, initial_state=state, output_final_state=True)
        out = self.c_proj(self.o_norm(out).flatten(2).to(x.dtype))
        read = [out[:, part] for part in ranges]
        return torch.cat(read, 1) if read else out[:, :0], state


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
            y = turned(y * self.qk_scale[:, column].to(y.dtype) + self.qk_offset[:, column].to(y.dtype))
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
