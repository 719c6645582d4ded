"""The language model's layer, with the authors' constructor arguments and parameter names."""
from typing import List, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import layouts
from ._library import ops
from .lact import LactState, chunk_lact, start_state, update_rule
from .layer_parts import Linear, LowRankWeights, RMSNorm, fast_rates, head_count, random_weights, split
from .tokens import lengths_of, wide


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
        y = split(ops.scale_shift(y, self.qk_scale[:, column], self.qk_offset[:, column]), self.num_lact_heads)
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
