"""Linear recurrences: a matrix per head that changes with every token and is read by the token's query."""
from typing import Optional, Tuple

import torch
from torch import Tensor

from ._library import ops
from .tokens import check_packed, heads_first, lengths_of, wide


def _recurrence(run, tokens, state, output_final_state, cu_seqlens):
    """run(tokens of [B, H, T, ...], state) over a batch, or over the documents of one row."""
    if cu_seqlens is None:
        documents, states = [tokens], [state]
    else:
        lengths = lengths_of(cu_seqlens)
        check_packed(tokens[0], lengths)
        documents = list(zip(*(x.split(lengths, 1) for x in tokens)))
        states = [None] * len(lengths) if state is None else list(state.split(1))
    results = [run([heads_first(x) for x in document], one) for document, one in zip(documents, states)]
    out = torch.cat([heads_first(out) for out, _ in results], 1) if len(results) > 1 else heads_first(results[0][0])
    return out, torch.cat([last for _, last in results]) if output_final_state else None


def _start(state, k, v):
    if state is not None:
        return wide(state)
    gates = torch.float64 if v.dtype == torch.float64 else torch.float32
    return v.new_zeros((v.shape[0], v.shape[1], k.shape[3], v.shape[3]), dtype=gates)


def chunk_gla(q: Tensor, k: Tensor, v: Tensor, g: Tensor, scale: Optional[float] = None,
              initial_state: Optional[Tensor] = None, output_final_state: bool = False,
              cu_seqlens=None) -> Tuple[Tensor, Optional[Tensor]]:
    """Gated linear attention: S_t = diag(e^g_t) S_{t-1} + k_t v_t^T, o_t = scale S_t^T q_t.
    q, k, g [B, T, H, K] with g at most 0; v [B, T, H, V]; states [B, H, K, V]. scale: None is 1 / sqrt(K)."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale

    def run(tokens, state):
        q, k, v, g = tokens
        return ops.gla(q, k, v, wide(g), _start(state, k, v), scale)

    return _recurrence(run, (q, k, v, g), initial_state, output_final_state, cu_seqlens)


def chunk_delta_rule(q: Tensor, k: Tensor, v: Tensor, beta: Tensor, scale: Optional[float] = None,
                     initial_state: Optional[Tensor] = None, output_final_state: bool = False, cu_seqlens=None,
                     use_qk_l2norm_in_kernel: bool = False) -> Tuple[Tensor, Optional[Tensor]]:
    """DeltaNet: S_t = S_{t-1} + beta_t k_t (v_t - S_{t-1}^T k_t)^T, o_t = scale S_t^T q_t. Keys have length 1;
    beta [B, T, H]. scale: None is 1 / sqrt(K)."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    if use_qk_l2norm_in_kernel:
        q, k = ops.l2_norm(q, 1e-6), ops.l2_norm(k, 1e-6)

    def run(tokens, state):
        q, k, v, beta = tokens
        return ops.delta_rule(q, k, v, wide(beta), _start(state, k, v), scale)

    return _recurrence(run, (q, k, v, beta), initial_state, output_final_state, cu_seqlens)


def chunk_ssd(q: Tensor, k: Tensor, v: Tensor, g: Tensor, scale: Optional[float] = None,
              initial_state: Optional[Tensor] = None, output_final_state: bool = False,
              cu_seqlens=None) -> Tuple[Tensor, Optional[Tensor]]:
    """Mamba-2's recurrence, also known as simple GLA: S_t = e^g_t S_{t-1} + k_t v_t^T, o_t = scale S_t^T q_t.
    q, k [B, T, H or 1, K]; g [B, T, H], at most 0. scale: None is 1 / sqrt(K)."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale

    def run(tokens, state):
        q, k, v, g = tokens
        return ops.ssd(q * scale, k, v, wide(g), _start(state, k, v))

    return _recurrence(run, (q, k, v, g), initial_state, output_final_state, cu_seqlens)


def mamba_chunk_scan(x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Optional[Tensor] = None,
                     initial_states: Optional[Tensor] = None, return_final_states: bool = False, cu_seqlens=None):
    """The same in Mamba-2's words: x [B, T, H, P], dt [B, T, H] after its softplus, A [H] below 0, B and C [B, T, 1 or H, N],
    D [H]; states [B, H, P, N]. Returns y, or (y, final states)."""
    state = None if initial_states is None else initial_states.transpose(-2, -1)
    y, last = chunk_ssd(C, B, x * dt.unsqueeze(-1).to(x.dtype), wide(dt) * wide(A), 1.0, state, return_final_states,
                        cu_seqlens)
    if D is not None:
        y = y + x * D.view(-1, 1).to(x.dtype)
    return (y, last.transpose(-2, -1)) if return_final_states else y
