"""LaCT, large-chunk test-time training, for PyTorch: operators (torch.ops.lact), functions in the shape of linear attention,
the authors' layers, and the models of the C++ library with their files. See docs/python.md."""
import torch

from . import layouts
from ._library import ops
from .attention import window_attention
from .causal_lm import LaCTForCausalLM
from .files import load_file, save_file
from .lact import LactState, chunk_lact, start_state, update_rule
from .language_layer import HybridState, LaCTSWIGLULayer
from .matrices import newton_schulz
from .minimal_layers import BidirectionalLaCTSwiGLU, CausalLaCTSwiGLUWithSlidingWindowAttn
from .models import Generated, LanguageModel, LmState, Scene, TrainingText, ViewModel
from .recurrences import chunk_delta_rule, chunk_gla, chunk_ssd, mamba_chunk_scan
from .splatting import Picture, rasterize
from .video_layer import VideoLaCTSelfAttention
from .view_layer import FastWeightGluMLPMultihead

# Debian's PyTorch comes up with one thread. A number that was chosen stays.
ops.use_threads(torch.get_num_threads() if torch.get_num_threads() > 1 else 0)
