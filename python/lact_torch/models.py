"""The library's models with their files: language models with memory files, view synthesis with scene files."""
import json
from typing import List, NamedTuple, Optional, Sequence, Union

import torch
from torch import Tensor, nn

from .tokens import lengths_of

_classes = torch.classes.lact


def _text(data: Tensor) -> str:
    return bytes(data.tolist()).decode("utf-8", errors="replace")


def _share_parameters(module: nn.Module, native) -> None:
    """The native model's own tensors become the module's parameters, under their names: an optimizer that changes these
    changes the model."""
    for path, tensor in native.parameters().items():
        tensor._is_param = True
        *parents, name = path.split(".")
        owner = module
        for parent in parents:
            if not hasattr(owner, parent):
                owner.add_module(parent, nn.Module())
            owner = getattr(owner, parent)
        owner.register_parameter(name, tensor)


class Generated(NamedTuple):
    text: str
    tokens: List[int]
    reason: str  # length, end_of_text or stop_string


class LmState:
    """What a model remembers of one text: constant in size, whatever was read."""

    def __init__(self, native):
        self._native = native

    @property
    def position(self) -> int:
        """Tokens read."""
        return self._native.position()

    @property
    def nbytes(self) -> int:
        return self._native.memory_bytes()

    def tensors(self):
        """Everything there is, by name: fast weights, momentum, the window's keys and values, ..."""
        return dict(self._native.tensors())

    def next_logits(self) -> Tensor:
        """Of the token that follows, [vocabulary]."""
        return self._native.next_logits()


class LanguageModel(nn.Module):
    """A language model of the C++ library, any mixer. Its parameters are the native ones: with trainable=True, or from a
    config, torch.optim and autograd train it in place."""

    def __init__(self, native):
        super().__init__()
        self._native = native
        _share_parameters(self, native)

    @classmethod
    def from_pretrained(cls, folder: str = "", *, trainable: bool = False, precision: str = "auto", weights: str = "auto",
                        cache: str = "auto", tokenizer: str = "") -> "LanguageModel":
        """A model folder, ours or the authors'; "" is the weights that come with the library. `precision` f32, bf16 or auto
        is the type of products; `weights` f32, bf16, int8 or auto how an untrainable model keeps them."""
        options = {"precision": precision, "weights": weights, "cache": cache, "tokenizer": tokenizer}
        return cls(_classes.LanguageModel(str(folder), json.dumps(options), trainable))

    @classmethod
    def from_config(cls, config: str, changes: Sequence[str] = (), *, precision: str = "f32",
                    tokenizer: str = "") -> "LanguageModel":
        """A preset (lm_tiny), or a config file, with fresh weights of torch's generator and changes such as
        "num_layers=4"."""
        options = json.dumps({"precision": precision, "tokenizer": tokenizer})
        return cls(_classes.LanguageModel.from_config(config, list(changes), options))

    def save_pretrained(self, folder: str) -> None:
        self._native.save(str(folder))

    @property
    def config(self) -> dict:
        return json.loads(self._native.config())

    def forward(self, ids: Tensor, cu_seqlens=None) -> Tensor:
        """ids [B, T] -> logits [B, T, vocabulary]. cu_seqlens: the ends of several texts in one row."""
        if cu_seqlens is None:
            return self._native.logits(ids)
        return self._native.logits_of_documents(ids, lengths_of(cu_seqlens))

    def losses(self, ids: Tensor) -> Tensor:
        """Cross entropy of each next token, [B, T - 1], without all logits in memory."""
        return self._native.losses(ids)

    def encode(self, text: str) -> List[int]:
        return list(self._native.encode(text))

    def decode(self, ids: Union[Tensor, Sequence[int]]) -> str:
        return _text(self._native.decode(torch.as_tensor(ids, dtype=torch.int64)))

    def new_state(self) -> LmState:
        return LmState(self._native.open_text(""))

    def read(self, text: Union[str, Tensor, Sequence[int]], state: Optional[LmState] = None) -> LmState:
        """Reads a text or its tokens into a state, a new one; the given one stays as it is."""
        after = self.new_state() if state is None else LmState(self._native.copy_text(state._native))
        if isinstance(text, str):
            text = self._native.encode_continuation(text) if after.position else self.encode(text)
        after._native.read(torch.as_tensor(text, dtype=torch.int64))
        return after

    def read_file(self, path: str, state: Optional[LmState] = None) -> LmState:
        """A text file of any size, in constant memory."""
        after = self.new_state() if state is None else LmState(self._native.copy_text(state._native))
        after._native.read_file(str(path))
        return after

    def generate(self, prompt: str = "", state: Optional[LmState] = None, *, max_tokens: int = 256,
                 temperature: float = 0.8, top_k: int = 0, top_p: float = 0.95, repetition_penalty: float = 1.0,
                 seed: int = 1, stop: Sequence[str] = (), ignore_end: bool = False) -> Generated:
        """Goes on after a prompt, from a state if there is one, which stays as it is."""
        after = self.new_state() if state is None else LmState(self._native.copy_text(state._native))
        options = {"max_tokens": max_tokens, "stop": list(stop), "ignore_end": ignore_end,
                   "sampling": {"temperature": temperature, "top_k": top_k, "top_p": top_p,
                                "repetition_penalty": repetition_penalty, "seed": seed}}
        tokens, data, reason = after._native.write(prompt, json.dumps(options))
        return Generated(_text(data), list(tokens), reason)

    def save_memory(self, state: LmState, path: str) -> None:
        """A memory file, which `lact lm generate --memory` and load_memory read."""
        state._native.save(str(path))

    def load_memory(self, path: str) -> LmState:
        return LmState(self._native.open_text(str(path)))


class TrainingText:
    """The batches of a run of `lact lm train`, by number: batch(i) is the [batch, length + 1] tokens of its step i."""

    def __init__(self, run_folder: str):
        self._native = _classes.TrainingText(str(run_folder))

    def batch(self, index: int) -> Tensor:
        return self._native.batch(index)

    @property
    def settings(self) -> dict:
        return json.loads(self._native.settings())


class Scene:
    """A scene that was read from posed images, in fast weights or Gaussians."""

    def __init__(self, native):
        self._native = native

    def render(self, intrinsics: Tensor, camera_to_world: Tensor, height: int, width: int) -> Tensor:
        """[3, height, width] in [0, 1], from intrinsics [4] (fx, fy, cx, cy) and camera_to_world [4, 4]."""
        return self._native.render(intrinsics, camera_to_world, height, width)

    def save(self, path: str) -> None:
        """A scene file, which `lact nvs render` and ViewModel.load_scene read."""
        self._native.save(str(path))

    @property
    def intrinsics(self) -> Tensor:
        return self._native.intrinsics()

    @property
    def camera_to_world(self) -> Tensor:
        return self._native.camera_to_world()


class ViewModel(nn.Module):
    """A view-synthesis model of the C++ library."""

    def __init__(self, native):
        super().__init__()
        self._native = native
        _share_parameters(self, native)

    @classmethod
    def from_pretrained(cls, folder_or_file: str = "", *, precision: str = "auto") -> "ViewModel":
        """A model folder, or a checkpoint of the authors; "" is the weights that come with the library."""
        return cls(_classes.ViewModel(str(folder_or_file), json.dumps({"precision": precision})))

    @property
    def config(self) -> dict:
        return json.loads(self._native.config())

    def forward(self, images: Tensor, intrinsics: Tensor, camera_to_world: Tensor) -> Tensor:
        """images [B, V, 3, H, W] of V views in [0, 1]; intrinsics [B, V + T, 4] and camera_to_world [B, V + T, 4, 4] of these
        and of T others, which are returned: [B, T, 3, H, W]. Differentiable."""
        return self._native.predict(images, intrinsics, camera_to_world)

    def reconstruct(self, images: Sequence[Tensor], intrinsics: Tensor, camera_to_world: Tensor) -> Scene:
        """images [3, H, W] of any sizes that divide into patches, intrinsics [V, 4], camera_to_world [V, 4, 4]."""
        return Scene(self._native.reconstruct(list(images), intrinsics, camera_to_world))

    def load_scene(self, path: str) -> Scene:
        return Scene(self._native.load_scene(str(path)))
