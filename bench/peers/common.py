"""What the peers share."""
import torch


def dtype_of(precision):
    return {"bf16": torch.bfloat16, "f32": torch.float32}[precision]


def maybe_compile(function, on):
    return torch.compile(function) if on else function


def silu_backward(grad, x):
    """d silu(x)/dx · grad."""
    s = torch.sigmoid(x)
    return grad * s * (1 + x * (1 - s))


FIXED = [(3.4445, -4.7750, 2.0315)] * 5
VARIABLE = [(4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (3.7418, -5.5913, 2.3037),
            (2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012)]


def newton_schulz(g, dtype, coefficients):
    """Muon's orthogonalisation of [N, rows, cols], in `dtype`."""
    x = g.to(dtype)
    tall = g.size(1) > g.size(2)
    if tall:
        x = x.transpose(1, 2)
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for a, b, c in coefficients:
        gram = x @ x.transpose(1, 2)
        x = a * x + (b * gram + c * gram @ gram) @ x
    if tall:
        x = x.transpose(1, 2)
    return x.to(g.dtype)
