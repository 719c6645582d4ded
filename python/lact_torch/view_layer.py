"""The view-synthesis layer, with the authors' constructor arguments and parameter names."""
import math
from typing import Optional, Sequence, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import layouts
from ._library import ops
from .lact import LactState, chunk_lact, update_rule
from .layer_parts import Linear, RMSNorm, fast_rates, head_count, split
from .tokens import wide


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
