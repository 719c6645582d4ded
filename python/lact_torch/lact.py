"""The paper's operation: a fast-weight network that is trained on the keys and values of each chunk and read with the
queries."""
import json
from typing import List, NamedTuple, Optional, Sequence, Union

import torch
from torch import Tensor

from . import layouts
from ._library import ops, written_matrices
from .tokens import check_packed, heads_first, lengths_of, wide


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
               rule: Optional[str] = None, scale: Optional[float] = None,
               initial_state: Union[LactState, Sequence[LactState], None] = None, output_final_state: bool = False,
               cu_seqlens=None, **rule_options):
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
    gates = rates if momentum is None else [*rates, momentum.reshape(*q.shape[:3], 1)]
    scan = _Scan(weights, momentum is not None, chunk_size, order, rule)
    if cu_seqlens is None:
        out, state = scan.run([q, k, v, *gates], initial_state, output_final_state)
    else:
        out, state = scan.run_packed([q, k, v, *gates], initial_state, output_final_state, lengths_of(cu_seqlens))
    return out if scale is None else out * scale, state


class _Scan(NamedTuple):
    """Tokens are q, k, v, a rate for each matrix, and the momentum if there is one: [B, T, H, channels]."""
    weights: Sequence[Tensor]
    has_momentum: bool
    chunk_size: int
    order: Union[str, layouts.Schedule]
    rule: str

    def run(self, tokens, state, output_final_state):
        count, whole = tokens[0].shape[1], state is None and not output_final_state
        if state is None:
            state = start_state(self.weights, self.rule, tokens[0].shape[0])
        begin = state.position
        q, *written = self._heads_first(tokens)
        if state.pending:
            written = [torch.cat([a.to(b.dtype), b], 2) for a, b in zip(state.pending, written)]
        first_key = begin + count - written[0].shape[2]
        out, memory = self._operator(q, written, state.memory, [], self._schedule(state, count, whole), begin, first_key)
        if not output_final_state:
            return out, None
        left = (begin + count) % self.chunk_size if self.order == "shifted" else 0
        return out, LactState(memory, [x[:, :, x.shape[2] - left:] for x in written] if left else [], begin + count)

    def run_packed(self, tokens, states, output_final_state, lengths):
        check_packed(tokens[0], lengths)
        if self.order == "shifted" and states is None and not output_final_state:
            q, *written = self._heads_first(tokens)
            initial = _batched(self.weights, 1)
            schedule = layouts.packed(lengths, self.chunk_size)
            return self._operator(q, written, ops.start_memory(initial, self.rule), initial, schedule, 0, 0)[0], None
        states = [None] * len(lengths) if states is None else states
        if len(states) != len(lengths):
            raise ValueError(f"there are {len(states)} states for {len(lengths)} documents")
        documents = zip(*(x.split(lengths, 1) for x in tokens))
        outs, finals = zip(*(self.run(document, state, output_final_state) for document, state in zip(documents, states)))
        return torch.cat(outs, 1), list(finals) if output_final_state else None

    @staticmethod
    def _heads_first(tokens):
        q, k, v, *gates = (heads_first(x) for x in tokens)
        return [q, k, v, *(wide(x) for x in gates)]

    def _operator(self, q, written, memory, initial, *where):
        k, v, *gates = written
        rates, beta = (gates[:-1], gates[-1]) if self.has_momentum else (gates, None)
        out, memory = ops.ttt(q, k, v, rates, beta, memory, initial, *where, self.rule)
        return heads_first(out), memory

    def _schedule(self, state, count, whole):
        if self.order == "shifted":
            return (layouts.shifted(count, self.chunk_size) if whole else
                    layouts.shifted_piece(state.position, count, self.chunk_size))
        if state.pending:
            raise ValueError(f"the state holds {state.pending[0].shape[2]} tokens of an unfinished chunk, which another order "
                             "than shifted would never write")
        if self.order == "block_causal":
            schedule = layouts.block_causal(count, self.chunk_size)
        elif self.order == "full":
            schedule = layouts.full(count)
        elif isinstance(self.order, str):
            raise ValueError(f"the order is {self.order!r}, expected shifted, block_causal, full or a schedule")
        else:
            schedule = self.order
        return layouts.moved(schedule, state.position)
