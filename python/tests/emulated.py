"""torch.library.register_autograd and register_fake as far as lact_torch uses them, for a PyTorch that has none: so that what
is registered from 2.4 on is run before it, too. As a program it runs tests of this folder by name in that way:

    python3 emulated.py test_functional test_golden
"""
import contextlib
import sys
import unittest

import torch


@contextlib.contextmanager
def below_autograd():
    """As kernels are called there: autograd's turn is over."""
    guard = torch._C._AutoDispatchBelowAutograd()
    if hasattr(guard, "__enter__"):
        with guard:
            yield
    else:  # before PyTorch 2.0, as long as it lives
        yield
    del guard


def is_list(x):
    """What counts as a list of tensors; an empty one does."""
    return isinstance(x, (list, tuple)) and all(isinstance(y, torch.Tensor) for y in x)


def structure(argument):
    """What has to be the same for an argument and its gradient."""
    return len(argument) if is_list(argument) else "tensor" if isinstance(argument, torch.Tensor) else None


def flatten(output):
    """Tensors, and for each result None or how many of them are its list."""
    flat, shape = [], []
    for x in output if isinstance(output, tuple) else (output,):
        shape.append(len(x) if is_list(x) else None)
        flat += x if is_list(x) else [x]
    return flat, shape


def unflatten(flat, shape):
    found = iter(flat)
    return tuple(next(found) if count is None else [next(found) for _ in range(count)] for count in shape)


def fill(argument, tensors):
    """The argument with its tensors replaced by the next ones."""
    if isinstance(argument, torch.Tensor):
        return next(tensors)
    return [next(tensors) for _ in argument] if is_list(argument) and argument else argument


def tensors_of(arguments):
    return [y for x in arguments for y in (x if is_list(x) else [x]) if isinstance(y, torch.Tensor)]


class Node(torch.autograd.Function):
    """Lists of tensors come flat: autograd does not look into them."""

    @staticmethod
    def forward(ctx, rule, arguments, shape, *leaves):
        operator, ctx.backward, setup_context = rule
        found = iter(leaves)
        filled = tuple(fill(x, found) for x in arguments)
        with below_autograd():
            output = operator(*filled)
        ctx.inner, ctx.expected = Context(), [structure(x) for x in filled]
        setup_context(ctx=ctx.inner, inputs=filled, output=output)
        flat, ctx.shape = flatten(output)
        shape += ctx.shape
        ctx.mark_non_differentiable(*(x for x in flat if not x.is_floating_point()))
        return tuple(flat)

    @staticmethod
    def backward(ctx, *gradients):
        with below_autograd():
            found = ctx.backward(ctx.inner, *unflatten(gradients, ctx.shape))
        if [structure(x) for x in found] != ctx.expected:
            raise AssertionError(f"gradients are {found}, expected the places of {ctx.expected}")
        return (None, None, None, *tensors_of(found))


class Context:
    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors


def apply(operator, backward, setup_context, arguments):
    """The operator as a node of autograd's graph."""
    rule, shape = (operator, backward, setup_context), []
    output = unflatten(Node.apply(rule, arguments, shape, *tensors_of(arguments)), shape)
    return output if len(output) > 1 else output[0]


def install():
    meta, autograd = (torch.library.Library("lact", "IMPL", key) for key in ("Meta", "Autograd"))

    def register_fake(name, function):
        meta.impl(name.split("::")[1], function)

    def register_autograd(name, backward, *, setup_context):
        operator = getattr(torch.ops.lact, name.split("::")[1])
        autograd.impl(name.split("::")[1], lambda *arguments: apply(operator, backward, setup_context, arguments))

    torch.library.register_fake, torch.library.register_autograd = register_fake, register_autograd


if __name__ == "__main__":
    install()
    import lact_torch  # noqa: F401
    if torch._C._dispatch_has_kernel_for_dispatch_key("lact::ttt", "AutogradCPU"):
        sys.exit("autograd is registered in both ways")
    unittest.main(module=None)
