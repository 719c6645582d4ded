"""What the tests share: nearness, and golden cases."""
import json
from pathlib import Path

import torch

import lact_torch

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
