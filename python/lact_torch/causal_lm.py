"""The authors' language model as a PyTorch module made of their layers, to be changed and trained in Python. What only has
to run is LanguageModel (models.py), which is the C++ library's."""
import json
import os
from typing import List, Optional, Tuple

import torch
from torch import Tensor, nn

from ._library import ops
from .files import load_file, save_file
from .language_layer import HybridState, LaCTSWIGLULayer
from .layer_parts import Linear, RMSNorm

LAYER_ARGUMENTS = ("hidden_size", "num_attn_heads", "num_lact_heads", "inter_multi", "window_size", "lact_chunk_size",
                   "qkv_bias", "attn_qk_norm", "qkv_silu", "no_v_silu", "lr_dim", "use_muon", "lr_parameterization",
                   "learnable_ttt_scale", "ttt_prenorm", "ttt_nope", "rope_theta", "max_position_embeddings",
                   "w0_w2_low_rank", "use_momentum", "ttt_loss_type", "fw_init_gain")
# Where the authors' config has another default than their layer.
DEFAULTS = {"hidden_size": 2048, "num_attn_heads": 32, "num_lact_heads": 4, "attn_qk_norm": False,
            "learnable_ttt_scale": True, "use_momentum": True, "rope_theta": 10000.0, "num_hidden_layers": 24,
            "vocab_size": 32000, "norm_eps": 1e-6, "initializer_range": 0.006}


class LaCTMLP(nn.Module):
    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.gate_proj = Linear(width, hidden, bias=False)
        self.up_proj = Linear(width, hidden, bias=False)
        self.down_proj = Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(ops.gated_silu(self.gate_proj(x), self.up_proj(x)))


class LaCTBlock(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        width, eps = config["hidden_size"], config["norm_eps"]
        ratio = config.get("hidden_ratio") or 4
        hidden = config.get("intermediate_size") or (width * ratio * 2 // 3 + 255) // 256 * 256
        self.attn_norm = RMSNorm(width, eps)
        self.attn = LaCTSWIGLULayer(**{name: config[name] for name in LAYER_ARGUMENTS if name in config})
        self.mlp_norm = RMSNorm(width, eps)
        self.mlp = LaCTMLP(width, hidden)

    def forward(self, x: Tensor, cu_seqlens=None) -> Tensor:
        x = x + self.attn(self.attn_norm(x), cu_seqlens)
        return x + self.mlp(self.mlp_norm(x))

    def advance(self, x: Tensor, state: Optional[HybridState]) -> Tuple[Tensor, HybridState]:
        mixed, state = self.attn.advance(self.attn_norm(x), state)
        x = x + mixed
        return x + self.mlp(self.mlp_norm(x)), state


class LaCTModel(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        self.embeddings = nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.layers = nn.ModuleList(LaCTBlock(config) for _ in range(config["num_hidden_layers"]))
        self.norm = RMSNorm(config["hidden_size"], config["norm_eps"])


class LaCTForCausalLM(nn.Module):
    """config: the dictionary of a config.json (model_type lact_swiglu). `compute_type` is the type of products and
    activations; parameters stay float32."""

    def __init__(self, config: dict, compute_type: torch.dtype = torch.float32):
        super().__init__()
        self.config = {**DEFAULTS, **config}
        self.compute_type = compute_type
        self.model = LaCTModel(self.config)
        self.lm_head = Linear(self.config["hidden_size"], self.config["vocab_size"], bias=False)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=self.config["initializer_range"])
                if getattr(module, "bias", None) is not None:
                    nn.init.zeros_(module.bias)
        if self.config.get("tie_word_embeddings"):
            self.lm_head.weight = self.model.embeddings.weight

    def forward(self, input_ids: Tensor, cu_seqlens=None) -> Tensor:
        """ids [B, T] -> logits [B, T, vocabulary], float32. cu_seqlens: the ends of several texts in one row."""
        x = self.model.embeddings(input_ids).to(self.compute_type)
        for layer in self.model.layers:
            x = layer(x, cu_seqlens)
        return self._logits(x)

    def advance(self, input_ids: Tensor, states: Optional[List[HybridState]] = None) -> Tuple[Tensor, List[HybridState]]:
        """Goes on with a text: the logits of these tokens, and what there is to remember, a state for each layer."""
        x, after = self.model.embeddings(input_ids).to(self.compute_type), []
        for layer, state in zip(self.model.layers, states or [None] * len(self.model.layers)):
            x, state = layer.advance(x, state)
            after.append(state)
        return self._logits(x), after

    def _logits(self, x: Tensor) -> Tensor:
        logits = self.lm_head(self.model.norm(x))
        return logits if logits.dtype == torch.float64 else logits.float()

    @classmethod
    def from_pretrained(cls, folder: str, compute_type: torch.dtype = torch.float32) -> "LaCTForCausalLM":
        """A folder with config.json and model.safetensors, as `lact lm train` and the authors' code write it."""
        with open(os.path.join(folder, "config.json")) as file:
            config = json.load(file)
        if config.get("model_type") != "lact_swiglu":
            raise ValueError(f"{folder}: model_type is {config.get('model_type')}, expected lact_swiglu; LanguageModel reads "
                             "the library's other models")
        model = cls(config, compute_type)
        tensors = load_file(os.path.join(folder, "model.safetensors"))
        if config.get("tie_word_embeddings"):
            tensors["lm_head.weight"] = tensors["model.embeddings.weight"]
        model.load_state_dict(tensors)
        return model

    def save_pretrained(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        tensors = {name: tensor.detach().float() for name, tensor in self.state_dict().items()}
        if self.config.get("tie_word_embeddings"):
            del tensors["lm_head.weight"]
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump({**self.config, "architectures": ["LaCTForCausalLM"], "model_type": "lact_swiglu"}, file, indent=1)
        save_file(tensors, os.path.join(folder, "model.safetensors"))
