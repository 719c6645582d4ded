"""What the tests share: golden cases, and gradients as torch.library.register_autograd would find them."""
import contextlib
import json
from pathlib import Path

import torch

import lact_torch
from lact_torch import _library

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden"  # a small part of
ALL_GOLDEN = ROOT.parent / "shared/golden"  # which is not everywhere


def close(test, found, expected, tolerance, name=""):
    """Within a share of the largest number; where all are zero, near to it."""
    test.assertEqual(tuple(found.shape), tuple(expected.shape), name)
    if expected.numel():
        largest = expected.abs().max().item() or 1.0
        error = (found.detach().double() - expected.double()).abs().max().item() / largest
        test.assertLessEqual(error, tolerance, f"{name}: off by {error:.1e}, allowed {tolerance:.1e}")


class GoldenCase:
    def __init__(self, path: Path):
        self.name = f"{path.parent.name}/{path.stem}"
        self.folder = path.parent
        self.description = json.loads(path.read_text())
        self.kind, self.options = self.description["kind"], dict(self.description["options"])
        self.tensors = lact_torch.load_file(str(path.with_suffix(".safetensors")))
        self.leaves = {}

    def has(self, name):
        return name in self.tensors

    def input(self, name):
        """A tensor whose gradient is compared, if the case has one."""
        if name not in self.leaves:
            self.leaves[name] = self.tensors[name].clone().requires_grad_(self.has(f"grad.{name}"))
        return self.leaves[name]

    def load(self, module):
        """Into the authors' names, all of them."""
        given = {name[6:]: tensor for name, tensor in self.tensors.items() if name.startswith("param.")}
        module.load_state_dict(given)
        self.leaves.update({f"param.{name}": parameter for name, parameter in module.named_parameters()})
        return module

    def tolerance(self, name):
        entry = self.description["tensors"].get(name, {})
        if "tol" in entry:
            return entry["tol"]
        suggested = self.description.get("tolerance", {}).get("suggested_tol_outputs")
        return 5e-5 if name.startswith("grad.") else suggested or 2e-5

    def expect(self, test, name, found):
        close(test, found, self.tensors[name], self.tolerance(name), f"{self.name}: {name}")

    def expect_gradients(self, test, *outputs):
        """Of the sum of products with r, or with r.<name> for each (name, output)."""
        if not outputs or not any(name.startswith("grad.") for name in self.tensors):
            return
        sum((out * self.tensors[f"r.{name}" if name else "r"]).sum() for name, out in outputs).backward()
        for name in [x for x in self.tensors if x.startswith("grad.")]:
            if self.description["tensors"][name].get("ill_conditioned"):
                continue
            test.assertIn(name[5:], self.leaves, f"{self.name}: nothing has the gradient {name}")
            leaf = self.leaves[name[5:]]
            self.expect(test, name, torch.zeros_like(leaf) if leaf.grad is None else leaf.grad)


def golden_cases(*kinds):
    """The committed ones, and all of them where they lie beside the repository."""
    for folder in (GOLDEN, ALL_GOLDEN):
        for path in sorted(folder.rglob("*.json")):
            if path.with_suffix(".safetensors").exists() and json.loads(path.read_text()).get("kind") in kinds:
                yield GoldenCase(path)


@contextlib.contextmanager
def below_autograd():
    """As register_autograd calls kernels: autograd's turn is over."""
    guard = torch._C._AutoDispatchBelowAutograd()
    if hasattr(guard, "__enter__"):
        with guard:
            yield
    else:  # before PyTorch 2.0, as long as it lives
        yield
    del guard


class ByBackwardOperator(torch.autograd.Function):
    """An operator differentiated as from PyTorch 2.4 on: by setup_context and backward_of, which are given to
    torch.library.register_autograd there. Lists of tensors come flat, as that function hides them."""

    @staticmethod
    def forward(ctx, name, arguments, *leaves):
        found = iter(leaves)
        filled = [fill(x, found) for x in arguments]
        with below_autograd():
            output = getattr(_library.ops, name)(*filled)
        ctx.name, ctx.count = name, len(leaves)
        ctx.inner, ctx.expected = Context(), [structure(x) for x in filled]
        _library.setup_context(ctx.inner, filled, output)
        flat, ctx.shape = flatten(output)
        ctx.mark_non_differentiable(*(x for x in flat if not x.is_floating_point()))
        return tuple(flat)

    @staticmethod
    def backward(ctx, *gradients):
        found = iter(gradients)
        structured = [next(found) if n is None else [next(found) for _ in range(n)] for n in ctx.shape]
        backward = _library.backward_of(getattr(_library.ops, f"{ctx.name}_backward"))
        with below_autograd():
            found = backward(ctx.inner, *structured)
        if [structure(x) for x in found] != ctx.expected:
            raise AssertionError(f"{ctx.name}: gradients are {found}, expected the places of {ctx.expected}")
        return (None, None, *_library.tensors_of(found))


def structure(argument):
    """What register_autograd asks of a gradient: a list for lists of tensors, and for empty ones; None for what is no
    tensor."""
    if isinstance(argument, (list, tuple)) and all(isinstance(x, torch.Tensor) for x in argument):
        return len(argument)
    return "tensor" if isinstance(argument, torch.Tensor) else None


class Context:
    """What a backward function sees of its forward call."""

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors


def flatten(output):
    flat, shape = [], []
    if isinstance(output, list):
        output = (output,)
    for x in output if isinstance(output, tuple) else (output,):
        shape.append(None if isinstance(x, torch.Tensor) else len(x))
        flat += [x] if isinstance(x, torch.Tensor) else list(x)
    return flat, shape


def fill(argument, tensors):
    """The argument with its tensors replaced by the next ones."""
    if isinstance(argument, torch.Tensor):
        return next(tensors)
    if isinstance(argument, list) and any(isinstance(x, torch.Tensor) for x in argument):
        return [next(tensors) for _ in argument]
    return argument
