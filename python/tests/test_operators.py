"""torch.ops.lact: derivatives, shapes without numbers, and that arguments stay as they are."""
import json
import subprocess
import sys
import unittest
from pathlib import Path

import torch

import lact_torch
from lact_torch import _library, layouts
from lact_torch import update_rule
from emulated import apply, below_autograd, fill, flatten
from support import close

ops = _library.ops


def numbers(*shape, scale=1.0):
    return scale * torch.randn(*shape, dtype=torch.float64)


def ttt_arguments(rule, network="swiglu", momentum=False, schedule=None, tokens=5, pending=0):
    batch, heads, width, hidden = 1, 2, 2, 3
    shapes = {"swiglu": [(hidden, width), (width, hidden), (hidden, width)], "linear": [(width, width)]}[network]
    weights = [numbers(batch, heads, *shape) for shape in shapes]
    keys = tokens + pending
    memory = ops.start_memory(weights, rule)
    schedule = schedule or layouts.shifted(tokens, 2)
    initial = weights if layouts.RESTART in schedule[::3] else []
    return [numbers(batch, heads, tokens, width), numbers(batch, heads, keys, width), numbers(batch, heads, keys, width),
            [numbers(batch, heads, keys, 1).abs() for _ in shapes],
            numbers(batch, heads, keys, 1).sigmoid() if momentum else None, memory, initial, schedule, pending, 0, rule]


def splat_arguments():
    count, coefficients = 4, 4
    means = numbers(count, 3, scale=0.4) + torch.tensor([0.0, 0.0, 3.0])
    return [means, numbers(count, 4), numbers(count, 3, scale=0.2) - 1, numbers(count) + 1,
            numbers(count, coefficients, 3, scale=0.3), numbers(count, 2, scale=0.01),
            torch.tensor([9.0, 8.0, 4.0, 3.5]).double(), torch.eye(4).double(), 7, 8, 1, [0.2, 0.3, 0.4], 0.3, 0.01, 1e10]


def recurrence(gate):
    return [numbers(1, 2, 5, 3), torch.nn.functional.normalize(numbers(1, 2, 5, 3), dim=-1), numbers(1, 2, 5, 4), gate,
            numbers(1, 2, 3, 4)]


def cases():
    """(operator, arguments) in float64, one or more for every operator."""
    torch.manual_seed(3)
    muon = update_rule(momentum=True, muon=True)
    yield "start_memory", [[numbers(1, 2, 4, 3), numbers(1, 2, 3, 4), numbers(1, 2, 4, 3)], muon]
    yield "start_memory", [[numbers(1, 2, 4, 3), numbers(1, 2, 3, 4), numbers(1, 2, 4, 3)],
                           update_rule(norm="pre", written="down")]
    yield "ttt", ttt_arguments(muon, momentum=True)
    yield "ttt", ttt_arguments(update_rule(norm="pre"), schedule=layouts.shifted_piece(2, 5, 4), pending=2)
    yield "ttt", ttt_arguments(update_rule("linear", "squared_error", momentum=True), "linear", momentum=True,
                               schedule=layouts.block_causal(5, 2))
    yield "ttt", ttt_arguments(update_rule(norm="none"), schedule=layouts.packed([2, 3], 2))
    yield "window_attention", [numbers(1, 6, 2, 3), numbers(1, 6, 2, 3), numbers(1, 6, 2, 4),
                               layouts.sliding_window(6, 3), 0, 0]
    options = json.dumps({"steps": 3, "coefficients": "variable"})
    yield "newton_schulz", [numbers(2, 3, 4), options]
    yield "gla", [*recurrence(-numbers(1, 2, 5, 3).abs()), 0.7]
    yield "delta_rule", [*recurrence(numbers(1, 2, 5).sigmoid()), 0.7]
    yield "ssd", recurrence(-numbers(1, 2, 5).abs())
    yield "splat", splat_arguments()
    yield "linear", [numbers(2, 3, 4), numbers(5, 4), numbers(5)]
    yield "linear", [numbers(2, 3, 4), numbers(5, 4), None]
    yield "rms_norm", [numbers(2, 3, 4), numbers(4), 1e-5]
    yield "scale_shift", [numbers(2, 3, 4), numbers(4), numbers(4)]
    yield "l2_norm", [numbers(2, 3, 4), 1e-5]
    yield "silu_l2_norm", [numbers(2, 3, 4), 1e-5]
    yield "gated_silu", [numbers(2, 3, 4), numbers(2, 3, 4)]
    angles = ops.rope_angles(torch.arange(5).unsqueeze(1), 4, 100.0)
    yield "rope", [numbers(1, 5, 2, 4), angles, False]
    yield "rope_angles", [torch.arange(5).unsqueeze(1), 4, 100.0]


def cases_of_shapes():
    """Those, and some whose derivative is not that of the function: what an anchor pulls to is a constant."""
    yield from cases()
    weights = {"swiglu": [(4, 3), (3, 4), (4, 3)], "ttt_linear": [(3, 3), (3, 1), (1, 3), (1, 3)],
               "ttt_mlp": [(4, 3), (4, 1), (3, 4), (3, 1), (1, 3), (1, 3)]}
    for network, shapes in weights.items():
        for options in (dict(elastic={"pull": 0.1}), dict(momentum=True, norm="pre"), dict(written="down")):
            yield "start_memory", [[numbers(1, 2, *shape) for shape in shapes], update_rule(network, **options)]


# Constants to a derivative: where a picture is taken from, and rotary angles.
CONSTANT = {"splat": (6, 7), "rope": (1,)}


def leaves_of(name, arguments):
    """Tensors of the arguments as leaves; those of CONSTANT want no gradient."""
    leaves = []
    for i, argument in enumerate(arguments):
        for tensor in _library.tensors_of([argument]):
            wanted = tensor.is_floating_point() and i not in CONSTANT.get(name, ())
            leaves.append(tensor.detach().clone().requires_grad_(wanted))
    return leaves


def differentiable_cases():
    return [(name, arguments) for name, arguments in cases() if name != "rope_angles"]


def differentiable_part(output):
    return tuple(x for x in flatten(output)[0] if x.is_floating_point())


def promise(x):
    return tuple(x.shape), x.stride(), x.dtype


def turned(x):
    """The same numbers in another order of memory."""
    return x.transpose(0, -1).contiguous().transpose(0, -1)


class Operators(unittest.TestCase):
    def test_every_operator_has_a_case(self):
        self.assertEqual({name for name, _ in cases()}, set(_library.FAKES))

    def test_gradients_equal_finite_differences(self):
        for name, arguments in differentiable_cases():
            with self.subTest(name):
                def run(*leaves):
                    found = iter(leaves)
                    return differentiable_part(getattr(ops, name)(*(fill(x, found) for x in arguments)))

                self.assertTrue(torch.autograd.gradcheck(run, leaves_of(name, arguments), atol=1e-6, rtol=1e-4,
                                                         nondet_tol=1e-12))

    def test_backward_operators_give_the_same(self):
        for name, arguments in differentiable_cases():
            with self.subTest(name):
                gradients = []
                for way in ("library", "backward operator"):
                    leaves = leaves_of(name, arguments)
                    found, operator = iter(leaves), getattr(ops, name)
                    given = [fill(x, found) for x in arguments]
                    if way == "library":
                        output = operator(*given)
                    else:
                        backward = _library.backward_of(getattr(ops, f"{name}_backward"))
                        output = apply(operator, backward, _library.setup_context, given)
                    torch.manual_seed(5)
                    total = sum((x * numbers(*x.shape)).sum() for x in differentiable_part(output))
                    wanted = [x for x in leaves if x.requires_grad]
                    gradients.append(torch.autograd.grad(total, wanted, allow_unused=True))
                for ours, other in zip(*gradients):
                    close(self, torch.zeros_like(other) if ours is None else ours, other, 1e-12, name)

    def test_promises_without_numbers(self):
        """Shapes, types and strides, also where heads lie anywhere."""
        for name, arguments in cases_of_shapes():
            for type_ in (torch.float64, torch.float32):
                with self.subTest(name, type=type_):
                    tensors = [turned(x.to(type_) if x.is_floating_point() else x) for x in _library.tensors_of(arguments)]

                    def run(operator, *given, place="cpu"):
                        found = iter([x.to(place) for x in tensors])
                        given = [[x if x is None else x.to(place) for x in one] for one in given]
                        return flatten(operator(*given, *(fill(x, found) for x in arguments)))[0]

                    with below_autograd():
                        real = run(getattr(ops, name))
                    meta = run(getattr(ops, name), place="meta")
                    self.assertEqual([promise(x) for x in meta], [promise(x) for x in real])
                    backward, slopes = getattr(ops, f"{name}_backward"), [x if x.is_floating_point() else None for x in real]
                    self.assertEqual([promise(x) for x in run(backward, slopes, place="meta")],
                                     [promise(x) for x in run(backward, slopes)])

    def test_arguments_stay_and_results_are_new(self):
        for name, arguments in cases():
            with self.subTest(name), torch.no_grad():
                tensors = [x.float() if x.is_floating_point() else x for x in _library.tensors_of(arguments)]
                before, found = [x.clone() for x in tensors], iter(tensors)
                results = flatten(getattr(ops, name)(*(fill(x, found) for x in arguments)))[0]
                for x, y in zip(tensors, before):
                    self.assertTrue(torch.equal(x, y))
                places = {x.storage().data_ptr() for x in tensors}
                self.assertFalse([x.shape for x in results if x.numel() and x.storage().data_ptr() in places])

    def test_mistakes_are_one_sentence(self):
        q = torch.randn(1, 6, 2, 3)
        with self.assertRaisesRegex(RuntimeError, r"k has shape .* but v has"):
            ops.window_attention(q, q, q[:, :, :1], layouts.sliding_window(6, 3), 0, 0)
        with self.assertRaisesRegex(RuntimeError, "did you mean|unknown|momentum"):
            ops.start_memory([q, q, q], json.dumps({"update": {"momentun": True}}))
        with self.assertRaisesRegex(RuntimeError, "the memory has 1 tensors, expected 6"):
            ops.ttt(q, q, q, [q, q, q], None, [q], [], [0, 0, 2], 0, 0, update_rule())

    def test_autograd_is_registered_once(self):
        has_cpp = torch._C._dispatch_has_kernel_for_dispatch_key("lact::ttt", "AutogradCPU")
        self.assertEqual(has_cpp, not hasattr(torch.library, "register_autograd"))

    @unittest.skipIf(hasattr(torch.library, "register_autograd"), "this PyTorch registers autograd itself")
    def test_everything_works_as_it_is_registered_from_2_4_on(self):
        tests = ["test_functional", "test_golden"]
        result = subprocess.run([sys.executable, Path(__file__).with_name("emulated.py"), "-q", *tests], text=True,
                                capture_output=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    @unittest.skipUnless(hasattr(torch.library, "opcheck"), "torch.library.opcheck comes with PyTorch 2.4")
    def test_opcheck(self):
        for name, arguments in cases():
            with self.subTest(name):
                leaves = iter(leaves_of(name, arguments))
                torch.library.opcheck(getattr(ops, name).default, tuple(fill(x, leaves) for x in arguments))

    @unittest.skipUnless(hasattr(torch, "compile") and hasattr(torch.library, "opcheck"), "torch.compile needs PyTorch 2.4")
    def test_compiles_without_graph_breaks(self):
        layer = lact_torch.LaCTSWIGLULayer(16, 2, 2, window_size=4, lact_chunk_size=4, use_momentum=True, use_muon=True)
        x = torch.randn(1, 10, 16)
        close(self, torch.compile(layer, fullgraph=True, backend="aot_eager")(x), layer(x), 1e-5)


if __name__ == "__main__":
    unittest.main()
