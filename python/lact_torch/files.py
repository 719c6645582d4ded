"""Tensors in safetensors files, by the library's reader and writer: a file is checked before memory is taken for it, and
written whole or not at all."""
from typing import Dict

from torch import Tensor

from ._library import ops


def load_file(path: str) -> Dict[str, Tensor]:
    return dict(ops.load_safetensors(str(path)))


def save_file(tensors: Dict[str, Tensor], path: str) -> None:
    ops.save_safetensors(str(path), {name: tensor.detach().contiguous() for name, tensor in tensors.items()})
