"""Muon's orthogonalisation."""
import json
from typing import Optional

import torch
from torch import Tensor

from ._library import ops


def newton_schulz(matrix: Tensor, steps: int = 5, coefficients: str = "fixed", dtype: Optional[torch.dtype] = None,
                  epsilon: float = 1e-7) -> Tensor:
    """About U V^T for G = U S V^T, every matrix [..., rows, columns] by itself: Muon's orthogonalisation. `fixed` coefficients
    are the paper's, `variable` those of the authors' language model; dtype: None iterates in that of the input."""
    if dtype not in (None, matrix.dtype, torch.bfloat16):
        raise ValueError(f"the iteration can be in the matrix's {matrix.dtype} or in bfloat16, not in {dtype}")
    iteration = "bfloat16" if dtype == torch.bfloat16 else "input"
    return ops.newton_schulz(matrix, json.dumps({"steps": steps, "coefficients": coefficients,
                                                 "iteration_type": iteration, "epsilon": epsilon}))
