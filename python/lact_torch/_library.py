"""Loads liblact_torch.so and tells PyTorch two more things about its operators: the shapes of their results, and how
they are differentiated.

Before PyTorch 2.4 autograd goes through the library's own functions, which keep what they need from the forward pass
(`_use_cpp_autograd`). From 2.4 on each operator is a node of the graph with its `_backward` operator as derivative,
registered here, so that torch.compile sees through it; the backward pass computes the forward pass again. Never both.
"""
import json
import os

import torch

_path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "liblact_torch.so")
if not os.path.exists(_path):
    raise ImportError(f"{_path} does not exist: `make python` builds it, and PYTHONPATH is then build/release/python")
torch.ops.load_library(_path)
ops = torch.ops.lact

# Results of the operators as far as they follow from shapes and types; the arguments are those of the schemas.
FAKES = {}


def _fake(function):
    FAKES[function.__name__] = function
    return function


def _like(x):
    return x.new_empty(x.shape)


@_fake
def start_memory(weights, rule):
    """In the order of MemoryList, python/src/fast_weights.h."""
    options = json.loads(rule)
    update = options.get("update", {})
    written = written_matrices(options.get("network", "swiglu"), update.get("written", "all"))
    theirs = [w for w, yes in zip(weights, written) if yes]
    memory = [_like(w) for w in weights] + [w.new_empty((*w.shape[:-1], 1)) for w in theirs]
    copies = bool(update.get("momentum")) + (update.get("norm_placement", "post") == "pre")
    copies += 2 * (update.get("elastic", {}).get("pull", 0) > 0)
    return memory + [_like(w) for _ in range(copies) for w in theirs]


@_fake
def ttt(q, k, v, rates, beta, memory, initial_weights, schedule, first_query, first_key, rule):
    return v.new_empty((*q.shape[:3], v.shape[3])), [_like(x) for x in memory]


@_fake
def window_attention(q, k, v, window, first_query, first_key):
    return q.new_empty((*q.shape[:3], v.shape[3]))


@_fake
def newton_schulz(matrix, options):
    return _like(matrix)


@_fake
def gla(q, k, v, log_decay, state, scale):
    return _like(v), _like(state)


@_fake
def delta_rule(q, k, v, beta, state, scale):
    return _like(v), _like(state)


@_fake
def ssd(q, k, v, log_decay, state):
    return _like(v), _like(state)


@_fake
def splat(means, quaternions, log_scales, opacity_logits, harmonics, screen_offsets, intrinsics, camera_to_world,
          height, width, degree, background, blur, near, far):
    return (means.new_empty((3, height, width)), means.new_empty((height, width)), means.new_empty((height, width)),
            means.new_empty((means.shape[0], 2), dtype=torch.int64))


@_fake
def linear(x, weight, bias):
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


@_fake
def rms_norm(x, weight, epsilon):
    return _like(x)


@_fake
def scale_shift(x, scale, shift):
    return _like(x)


@_fake
def l2_norm(x, epsilon):
    return _like(x)


@_fake
def silu_l2_norm(x, epsilon):
    return _like(x)


@_fake
def gated_silu(gate, up):
    return _like(gate)


@_fake
def rope(x, angles, neighbours):
    return _like(x)


@_fake
def rope_angles(positions, head_dim, base):
    return positions.new_empty((2, positions.shape[0], head_dim // 2), dtype=torch.float64)


def written_matrices(network, written):
    """For each matrix of a fast-weight network, whether a chunk writes it; the last ones of the networks with a norm
    inside are fixed."""
    down = {"swiglu": (3, 0, 1), "linear": (1, 0, 0), "ttt_linear": (4, 2, 0), "ttt_mlp": (6, 2, 2)}
    count, fixed, output = down[network]
    return [i < count - fixed and (written == "all" or i == output) for i in range(count)]


def tensors_of(arguments):
    """The tensors among arguments, those of lists one by one: what a `_backward` operator gives gradients of."""
    for argument in arguments:
        if isinstance(argument, torch.Tensor):
            yield argument
        elif isinstance(argument, (list, tuple)):
            yield from (x for x in argument if isinstance(x, torch.Tensor))


def backward_fake(gradients, *arguments):
    return [_like(x) for x in tensors_of(arguments)]


def setup_context(ctx, inputs, output):
    """Of torch.library.register_autograd. Tensors go where PyTorch looks after them; the rest is as it is."""
    ctx.save_for_backward(*tensors_of(inputs))
    ctx.arguments = [
        _Place(1) if isinstance(x, torch.Tensor) else
        _Place(len(x), True) if isinstance(x, (list, tuple)) and any(isinstance(y, torch.Tensor) for y in x) else x
        for x in inputs]


class _Place:
    """Where `count` of the saved tensors stood: a list of them, or one alone."""

    def __init__(self, count, is_list=False):
        self.count, self.is_list = count, is_list

    def take(self, tensors):
        taken = [next(tensors) for _ in range(self.count)]
        return taken if self.is_list else taken[0]


def _no_gradient(argument):
    """An empty list counts as one of tensors, whose gradient is a list, too."""
    return [] if isinstance(argument, (list, tuple)) and not argument else None


def backward_of(operator):
    """The backward function of register_autograd: gradients in the places of their tensors, None elsewhere."""

    def backward(ctx, *gradients):
        flat = []
        for gradient in gradients:
            flat.extend(gradient if isinstance(gradient, (list, tuple)) else [gradient])
        saved = iter(ctx.saved_tensors)
        arguments = [x.take(saved) if isinstance(x, _Place) else x for x in ctx.arguments]
        found = iter(operator(flat, *arguments))
        return tuple(x.take(found) if isinstance(x, _Place) else _no_gradient(x) for x in ctx.arguments)

    return backward


def _register_with_python():
    for name, fake in FAKES.items():
        torch.library.register_fake(f"lact::{name}", fake)
        torch.library.register_fake(f"lact::{name}_backward", backward_fake)
        torch.library.register_autograd(f"lact::{name}", backward_of(getattr(ops, f"{name}_backward")),
                                        setup_context=setup_context)


def _register_before_2_4():
    ops._use_cpp_autograd()
    library = torch.library.Library("lact", "IMPL", "Meta")
    for name, fake in FAKES.items():
        library.impl(name, fake)
        library.impl(f"{name}_backward", backward_fake)
    return library


if hasattr(torch.library, "register_autograd"):
    _register_with_python()
else:
    _meta = _register_before_2_4()  # registrations last as long as this
