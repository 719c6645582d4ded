"""LaCT, large-chunk test-time training, for PyTorch: operators (torch.ops.lact), functions in the shape of linear attention,
the authors' layers, and the models of the C++ library with their files. See docs/python.md."""
import torch

from . import layouts
from ._library import ops
from .causal_lm import LaCTForCausalLM
from .files import load_file, save_file
from .functional import (LactState, Picture, chunk_delta_rule, chunk_gla, chunk_lact, chunk_ssd, mamba_chunk_scan,
                         newton_schulz, rasterize, start_state, update_rule, window_attention)
from .layers import (BidirectionalLaCTSwiGLU, CausalLaCTSwiGLUWithSlidingWindowAttn, FastWeightGluMLPMultihead,
                     HybridState, LaCTSWIGLULayer, VideoLaCTSelfAttention)
from .models import Generated, LanguageModel, LmState, Scene, TrainingText, ViewModel

# Debian's PyTorch comes up with one thread. A number that was chosen stays.
ops.use_threads(torch.get_num_threads() if torch.get_num_threads() > 1 else 0)
