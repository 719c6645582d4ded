"""Operations in the shape that users of linear attention know: tensors [B, T, H, D], states in float32,
(output, final state). All are differentiable, states included."""
import json
import math
from typing import List, NamedTuple, Optional, Sequence, Tuple, Union

import torch
from torch import Tensor

from . import layouts
from ._library import ops, written_matrices


def lengths_of(cu_seqlens) -> List[int]:
    """Cumulative lengths [0, 5, 12, ...] -> [5, 7, ...]."""
    ends = cu_seqlens.tolist() if isinstance(cu_seqlens, Tensor) else list(cu_seqlens)
    lengths = [end - begin for begin, end in zip(ends, ends[1:])]
    if not lengths or ends[0] != 0 or min(lengths) < 1:
        raise ValueError(f"cu_seqlens is {ends}, expected 0 and growing numbers")
    return lengths


def _check_packed(x: Tensor, lengths: Sequence[int]) -> None:
    if x.shape[0] != 1 or sum(lengths) != x.shape[1]:
        raise ValueError(f"cu_seqlens ends at {sum(lengths)}, expected one row of so many tokens, not "
                         f"{x.shape[0]} of {x.shape[1]}")


def wide(x: Tensor) -> Tensor:
    """float32, or float64 as it is."""
    return x if x.dtype == torch.float64 else x.float()


def _heads_first(x: Tensor) -> Tensor:
    return x.transpose(1, 2)


# --- Test-time training -------------------------------------------------------------------------------------------------

def update_rule(network: str = "swiglu", loss: str = "dot_product", *, momentum: bool = False, muon: bool = False,
                newton_schulz_steps: int = 5, newton_schulz_coefficients: str = "fixed",
                newton_schulz_type: str = "input", norm: str = "post", norm_target: str = "initial",
                detach_norm: bool = False, recompute: bool = False, **others) -> str:
    """How a chunk changes the fast weights, as the operators take it.

    network, loss   swiglu, linear, ttt_linear or ttt_mlp; dot_product or squared_error
    muon            orthogonalise each step by Newton-Schulz: `fixed` coefficients (paper) or `variable` (authors' language
                    model), iterated in the type of the `input` or in `bfloat16` as the published code does
    norm            row norms put back after each update (post), on a copy that is read (pre), or none
    recompute       hidden layers are computed again in the backward pass instead of being kept
    others          fields of the library's UpdateRule: norm_epsilon, steps, ascent, written, elastic
    """
    update = {"momentum": momentum, "muon": muon, "norm_placement": norm, "norm_target": norm_target,
              "detach_norm": detach_norm, **others}
    update["newton_schulz"] = {"steps": newton_schulz_steps, "coefficients": newton_schulz_coefficients,
                               "iteration_type": newton_schulz_type}
    return json.dumps({"network": network, "loss": loss, "update": update, "recompute": recompute})


class LactState(NamedTuple):
    """What a sequence has left behind; constant in size but for the tokens of an unfinished chunk.

    memory     the fast weights and what their updates carry on (norms, momentum, ...), float32, [B, H, ...]
    pending    keys, values, rates and momentum of tokens that no chunk is complete with, [B, H, t, ...]
    position   tokens seen
    """
    memory: List[Tensor]
    pending: List[Tensor]
    position: int

    def weights(self, network: str = "swiglu") -> List[Tensor]:
        """The fast weights alone, in the order in which they were given."""
        return self.memory[:len(written_matrices(network, "all"))]


def start_state(weights: Sequence[Tensor], rule: str, batch: int) -> LactState:
    """From initial weights [H, out, in], the same for all of a batch, or [B, H, out, in]."""
    return LactState(ops.start_memory(_batched(weights, batch), rule), [], 0)


def _batched(weights: Sequence[Tensor], batch: int) -> List[Tensor]:
    return [wide(w if w.dim() == 4 else w.unsqueeze(0).expand(batch, *w.shape)) for w in weights]


def chunk_lact(q: Tensor, k: Tensor, v: Tensor, weights: Sequence[Tensor], lr: Union[Tensor, Sequence[Tensor]],
               momentum: Optional[Tensor] = None, *, chunk_size: int = 2048, order: Union[str, layouts.Schedule] = "shifted",
               rule: Optional[str] = None, scale: Optional[float] = None, initial_state: Union[LactState, Sequence[LactState], None] = None,
               output_final_state: bool = False, cu_seqlens=None, **rule_options):
    """Large-chunk test-time training (paper algorithm 1): a fast-weight network that is trained on the keys and values of
    each chunk, and read with the queries.

    q, k, v        [B, T, H, D]
    weights        initial fast weights, [H, out, in] or [B, H, out, in]: w0 (gate), w1 (down), w2 (up) for swiglu
    lr             learning rates, [B, T, H, matrices], or one tensor [B, T, H, 1 or in] for each matrix that is written
    momentum       decay of the momentum, [B, T, H]; None for none
    order          shifted (a chunk is read, then written: language), block_causal (written, then read), full (all at
                   once), or a schedule of lact_torch.layouts
    rule           of update_rule(); or its arguments as rule_options
    scale          factor of the output; None is 1
    initial_state  of an earlier call. In the order `shifted` a sequence may be cut anywhere
    cu_seqlens     ends of documents in one row, [0, 5, 12, ...]; each begins with the initial weights and knows nothing of
                   the others. States are then lists, one for each document
    """
    if rule is None:
        rule = update_rule(momentum=momentum is not None, **rule_options)
    elif rule_options:
        raise TypeError(f"{', '.join(rule_options)}: not together with rule")
    rates = list(lr.unsqueeze(-1).unbind(3)) if isinstance(lr, Tensor) else list(lr)
    tokens = [q, k, v, *rates] + ([] if momentum is None else [momentum.reshape(*q.shape[:3], 1)])
    if cu_seqlens is None:
        out, state = _lact(tokens, momentum is not None, weights, chunk_size, order, rule, initial_state,
                           output_final_state)
    else:
        out, state = _packed_lact(tokens, momentum is not None, weights, chunk_size, order, rule, initial_state,
                                  output_final_state, lengths_of(cu_seqlens))
    return out if scale is None else out * scale, state


def _lact(tokens, has_momentum, weights, chunk_size, order, rule, state, output_final_state):
    batch, count = tokens[0].shape[:2]
    whole = state is None and not output_final_state
    if state is None:
        state = start_state(weights, rule, batch)
    q, k, v, *gates = [_heads_first(x) for x in tokens]
    written = [k, v, *(wide(x) for x in gates)]
    begin = state.position
    if isinstance(order, str):
        if order != "shifted" and state.pending:
            raise ValueError(f"the state holds {state.pending[0].shape[2]} tokens of an unfinished chunk, which the order "
                             f"{order} would never write")
        schedule = _schedule(order, begin, count, chunk_size, whole)
    else:
        schedule = [x + begin if i % 3 else x for i, x in enumerate(order)]
    if state.pending:
        written = [torch.cat([a.to(b.dtype), b], 2) for a, b in zip(state.pending, written)]
    first_key = begin + count - written[0].shape[2]
    rates, beta = (written[2:-1], written[-1]) if has_momentum else (written[2:], None)
    out, memory = ops.ttt(q, written[0], written[1], rates, beta, state.memory, [], schedule, begin, first_key, rule)
    out = out.transpose(1, 2)
    if not output_final_state:
        return out, None
    left = (begin + count) % chunk_size if order == "shifted" else 0
    pending = [x[:, :, x.shape[2] - left:] for x in written] if left else []
    return out, LactState(memory, pending, begin + count)


def _schedule(order, begin, count, chunk_size, whole):
    if order == "shifted":
        return layouts.shifted(count, chunk_size) if whole else layouts.shifted_piece(begin, count, chunk_size)
    made = {"block_causal": lambda: layouts.block_causal(count, chunk_size), "full": lambda: layouts.full(count)}
    if order not in made:
        raise ValueError(f"the order is {order!r}, expected shifted, block_causal, full or a schedule")
    return [x + begin if i % 3 else x for i, x in enumerate(made[order]())]


def _packed_lact(tokens, has_momentum, weights, chunk_size, order, rule, state, output_final_state, lengths):
    _check_packed(tokens[0], lengths)
    if order == "shifted" and state is None and not output_final_state:
        q, k, v, *gates = [_heads_first(x) for x in tokens]
        gates = [wide(x) for x in gates]
        rates, beta = (gates[:-1], gates[-1]) if has_momentum else (gates, None)
        initial = _batched(weights, 1)
        out, _ = ops.ttt(q, k, v, rates, beta, ops.start_memory(initial, rule), initial,
                         layouts.packed(lengths, chunk_size), 0, 0, rule)
        return out.transpose(1, 2), None
    starts = [None] * len(lengths) if state is None else state
    if len(starts) != len(lengths):
        raise ValueError(f"there are {len(starts)} states for {len(lengths)} documents")
    outs, finals = zip(*(
        _lact(document, has_momentum, weights, chunk_size, order, rule, start, output_final_state)
        for start, *document in zip(starts, *(x.split(lengths, 1) for x in tokens))))
    return torch.cat(outs, 1), list(finals) if output_final_state else None


# --- Window attention ----------------------------------------------------------------------------------------------------

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
        _check_packed(q, lengths)
        window = layouts.packed_windows(lengths, width)
    elif window is None:
        window = layouts.sliding_window(count, width, first_query, first_key)
    if scale is not None:
        q = q * (scale * math.sqrt(q.shape[-1]))
    return ops.window_attention(q, k, v, window, first_query, first_key)


# --- Linear recurrences --------------------------------------------------------------------------------------------------

def _recurrence(run, tokens, state, output_final_state, cu_seqlens):
    """run(tokens of [B, H, T, ...], state) over a batch, or over the documents of one row."""
    if cu_seqlens is None:
        documents, states = [tokens], [state]
    else:
        lengths = lengths_of(cu_seqlens)
        _check_packed(tokens[0], lengths)
        documents = list(zip(*(x.split(lengths, 1) for x in tokens)))
        states = [None] * len(lengths) if state is None else list(state.split(1))
    results = [run([_heads_first(x) for x in document], one) for document, one in zip(documents, states)]
    out = torch.cat([out.transpose(1, 2) for out, _ in results], 1) if len(results) > 1 else _heads_first(results[0][0])
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


# --- Matrices and pictures -----------------------------------------------------------------------------------------------

def newton_schulz(matrix: Tensor, steps: int = 5, coefficients: str = "fixed", dtype: Optional[torch.dtype] = None,
                  epsilon: float = 1e-7) -> Tensor:
    """About U V^T for G = U S V^T, every matrix [..., rows, columns] by itself: Muon's orthogonalisation. `fixed` coefficients
    are the paper's, `variable` those of the authors' language model; dtype: None iterates in that of the input."""
    if dtype not in (None, matrix.dtype, torch.bfloat16):
        raise ValueError(f"the iteration can be in the matrix's {matrix.dtype} or in bfloat16, not in {dtype}")
    iteration = "bfloat16" if dtype == torch.bfloat16 else "input"
    return ops.newton_schulz(matrix, json.dumps({"steps": steps, "coefficients": coefficients,
                                                 "iteration_type": iteration, "epsilon": epsilon}))


class Picture(NamedTuple):
    image: Tensor  # [3, H, W], or [C, 3, H, W] of C cameras
    alpha: Tensor  # [H, W]
    depth: Tensor  # [H, W]: sum of z alpha T; divided by alpha it is the expected depth
    radii: Tensor  # [N, 2], int64: extent of each splat in pixels; 0 where it is not seen


def rasterize(means: Tensor, quaternions: Tensor, log_scales: Tensor, opacity_logits: Tensor, harmonics: Tensor,
              intrinsics: Tensor, camera_to_world: Tensor, height: int, width: int, *, degree: int = 3,
              background: Sequence[float] = (0., 0., 0.), blur: float = 0.3, near: float = 0.01, far: float = 1e10,
              screen_offsets: Optional[Tensor] = None) -> Picture:
    """Gaussian splatting with the conventions of gsplat 1.6. Gaussians are as optimizers keep them, before activation: means
    [N, 3], quaternions [N, 4] (w, x, y, z), log_scales [N, 3], opacity_logits [N], harmonics [N, K, 3]. Cameras: intrinsics
    [4] (fx, fy, cx, cy) and camera_to_world [4, 4], or [C, 4] and [C, 4, 4]. Gradients go to the Gaussians and to
    screen_offsets [N, 2]; cameras have none."""
    if intrinsics.requires_grad or camera_to_world.requires_grad:
        raise ValueError("rasterize gives no gradient to cameras; detach them")
    numbers = [float(x) for x in background]

    def one(camera, pose):
        return Picture(*ops.splat(means, quaternions, log_scales, opacity_logits, harmonics, screen_offsets, camera, pose,
                                  height, width, degree, numbers, blur, near, far))

    if intrinsics.dim() == 1:
        return one(intrinsics, camera_to_world)
    return Picture(*(torch.stack(x) for x in zip(*(one(a, b) for a, b in zip(intrinsics, camera_to_world)))))
