"""Test-time training of fast weights, chunk by chunk (paper, algorithm 1), in plain PyTorch.

Tokens [N, T, D] with N = batch · heads; SwiGLU's gate, up [N, F, D], down [N, D, F], kept in float32; products in the
tokens' type. A chunk is written and then read. Row norms go back to where they began after each update, but for the
networks of the original TTT (Sun et al. 2024), which have a layer norm inside and the squared error as their loss.
"""
import math

import torch
import torch.nn.functional as F

from common import FIXED, dtype_of, maybe_compile, newton_schulz, silu_backward


def apply_official(gate, down, up, q):
    """Channels first, as the authors' language-model code multiplies."""
    q = q.transpose(1, 2)
    return (down @ (F.silu(gate @ q) * (up @ q))).transpose(1, 2)


def directions_official(gate, down, up, k, v, rates):
    v = v.transpose(1, 2)
    gate_in = gate @ k.transpose(1, 2)
    up_out = up @ k.transpose(1, 2)
    hidden = F.silu(gate_in) * up_out
    dhidden = down.transpose(1, 2) @ v
    dup = dhidden * F.silu(gate_in)
    dgate = silu_backward(dhidden * up_out, gate_in)
    rate_gate, rate_down, rate_up = (rate.to(k.dtype) for rate in rates)
    return (dgate @ (k * rate_gate), v @ (hidden.transpose(1, 2) * rate_down), dup @ (k * rate_up))


def apply_token_major(gate, down, up, q):
    return (F.silu(q @ gate.transpose(1, 2)) * (q @ up.transpose(1, 2))) @ down.transpose(1, 2)


def directions_token_major(gate, down, up, k, v, rates):
    gate_in = k @ gate.transpose(1, 2)
    up_out = k @ up.transpose(1, 2)
    silu = F.silu(gate_in)
    dhidden = v @ down
    dup = dhidden * silu
    dgate = silu_backward(dhidden * up_out, gate_in)
    rate_gate, rate_down, rate_up = (rate.to(k.dtype) for rate in rates)
    return ((dgate * rate_gate).transpose(1, 2) @ k, v.transpose(1, 2) @ (silu * up_out * rate_down),
            (dup * rate_up).transpose(1, 2) @ k)


def apply_linear(weight, q):
    return q @ weight.transpose(1, 2)


def directions_linear(weight, k, v, rates):
    return ((v * rates[0].to(k.dtype)).transpose(1, 2) @ k,)


def normed(z):
    centred = z.float() - z.float().mean(-1, keepdim=True)
    inverse = (centred.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
    return centred * inverse, inverse


def affine(x, weight, bias):
    return x @ weight.transpose(1, 2) + bias.transpose(1, 2)


def with_norm(x, z, scale, shift):
    return x + (normed(z)[0] * scale + shift).to(x.dtype)


def descent_to_norm(z, k, v, scale, shift):
    """-dL/dz of 1/2 |k + LN(z) - v|^2."""
    value, inverse = normed(z)
    along = (v - (k + (value * scale + shift).to(k.dtype))).float() * scale
    common = (along * value).mean(-1, keepdim=True)
    return ((along - along.mean(-1, keepdim=True) - value * common) * inverse).to(k.dtype)


def outer_sums(delta, x, weight_rate, bias_rate):
    return ((delta * weight_rate.to(x.dtype)).transpose(1, 2) @ x, (delta * bias_rate).float().sum(1).unsqueeze(-1))


def apply_ttt_linear(weight, bias, scale, shift, q):
    return with_norm(q, affine(q, weight, bias), scale, shift)


def directions_ttt_linear(weight, bias, scale, shift, k, v, rates):
    return outer_sums(descent_to_norm(affine(k, weight, bias), k, v, scale, shift), k, *rates)


def apply_ttt_mlp(in_, in_bias, out, out_bias, scale, shift, q):
    hidden = F.gelu(affine(q, in_, in_bias), approximate="tanh")
    return with_norm(q, affine(hidden, out, out_bias), scale, shift)


def gelu_slope(x):
    root, cubic = math.sqrt(2 / math.pi), 0.044715
    square = x * x
    t = torch.tanh(root * x * (1 + cubic * square))
    return 0.5 * (1 + t) + 0.5 * root * x * (1 - t * t) * (1 + 3 * cubic * square)


def directions_ttt_mlp(in_, in_bias, out, out_bias, scale, shift, k, v, rates):
    before = affine(k, in_, in_bias)
    hidden = F.gelu(before, approximate="tanh")
    delta = descent_to_norm(affine(hidden, out, out_bias), k, v, scale, shift)
    return (*outer_sums((delta @ out) * gelu_slope(before), k, *rates[:2]), *outer_sums(delta, hidden, *rates[2:]))


FORMS = {"official": (apply_official, directions_official),
         "token_major": (apply_token_major, directions_token_major),
         "linear": (apply_linear, directions_linear),
         "ttt_linear": (apply_ttt_linear, directions_ttt_linear),
         "ttt_mlp": (apply_ttt_mlp, directions_ttt_mlp)}


def matrices_of(network, width, hidden):
    """(rows, columns, what every element begins as, or None where it is random); the last two of a network with a norm
    inside are never written."""
    norm = [(1, width, 1.0), (1, width, 0.0)]
    return {"swiglu": [(hidden, width, None), (width, hidden, None), (hidden, width, None)],
            "linear": [(width, width, None)],
            "ttt_linear": [(width, width, None), (width, 1, 0.0), *norm],
            "ttt_mlp": [(hidden, width, None), (hidden, 1, 0.0), (width, hidden, None), (width, 1, 0.0), *norm]}[network]


def write(weights, norms, momenta, directions, beta, muon, coefficients, iteration):
    """One update of the matrices that are written; returns new weights and momenta. Without norms none are put back."""
    if beta is not None:
        decay = beta.mean(1, keepdim=True)
        directions = [d + m * decay for d, m in zip(directions, momenta)]
        momenta = directions
    if muon:
        steps = [newton_schulz(d, iteration, coefficients) for d in directions]
    else:
        steps = directions
    moved = [w + s for w, s in zip(weights, steps)]
    if norms is None:
        return moved, momenta
    return [w / (w.norm(dim=2, keepdim=True) + 1e-5) * n for w, n in zip(moved, norms)], momenta


def scan(form, q, k, v, weights, rates, beta, chunk, muon, coefficients=FIXED, shifted=False):
    """weights and rates in the order gate, down, up; there are rates for those that are written. `shifted`: a chunk is
    read, then written; the last is not."""
    apply, directions = FORMS[form]
    type_ = q.dtype
    original = form.startswith("ttt_")
    weights, fixed = weights[:len(rates)], weights[len(rates):]
    norms = None if original else [w.norm(dim=2, keepdim=True) for w in weights]

    def now():
        return [*[w.to(type_) for w in weights], *fixed]

    momenta = [torch.zeros_like(w) for w in weights] if beta is not None else None
    # Taken apart at once: a slice's gradient is as long as the sequence.
    cut = [x.split(chunk, 1) for x in (q, k, v, *rates, *([] if beta is None else [beta]))]
    outputs = []
    for i, (q_, k_, v_, *others) in enumerate(zip(*cut)):
        if shifted:
            outputs.append(apply(*now(), q_))
        if not shifted or i + 1 < len(cut[0]):
            g = directions(*now(), k_, v_, others[:len(rates)])
            weights, momenta = write(weights, norms, momenta, [d.float() for d in g],
                                     None if beta is None else others[-1], muon, coefficients, type_)
        if not shifted:
            outputs.append(apply(*now(), q_))
    return torch.cat(outputs, 1) if len(outputs) > 1 else outputs[0]


class Ttt:
    """Draws the numbers that lact/bench/ttt_problem.cpp draws."""

    def __init__(self, heads, tokens, chunk, width, hidden, muon, momentum, backward, form, precision, compile=False,
                 network="swiglu"):
        torch.manual_seed(17)
        type_ = dtype_of(precision)

        def draw(channels):
            return torch.randn(1, heads, tokens, channels)[0]

        def leaf(x):
            return x.detach().contiguous().requires_grad_(backward)

        def unit(x):
            return x / (x.norm(dim=-1, keepdim=True) + 1e-5)

        self.q, self.k = leaf(unit(draw(width)).to(type_)), leaf(unit(draw(width)).to(type_))
        self.v = leaf(draw(width).to(type_))
        self.weights, self.rates = [], []
        for i, (rows, cols, initial) in enumerate(matrices_of(network, width, hidden)):
            if initial is None:
                self.weights.append(leaf(torch.randn(1, heads, rows, cols)[0] / math.sqrt(cols)))
            else:
                self.weights.append(leaf(torch.full((heads, rows, cols), initial)))
            if not network.startswith("ttt_") or i < len(matrices_of(network, width, hidden)) - 2:
                self.rates.append(leaf(draw(1).abs() * 0.01))
        self.beta = leaf(torch.sigmoid(draw(1))) if momentum else None
        self.cotangent = draw(width).to(type_)
        self.chunk, self.muon, self.backward = chunk, muon, backward
        self.form = form if network == "swiglu" else network
        self.scan = maybe_compile(scan, compile)

    def leaves(self):
        beta = [] if self.beta is None else [self.beta]
        return [self.q, self.k, self.v, *self.weights, *self.rates, *beta]

    def prepare(self):
        for x in self.leaves():
            x.grad = None

    def run(self):
        self.prepare()
        with torch.set_grad_enabled(self.backward):
            out = self.scan(self.form, self.q, self.k, self.v, self.weights, self.rates, self.beta, self.chunk,
                            self.muon)
        if self.backward:
            out.backward(self.cotangent)
        return out.detach()

    def tensors(self):
        return [self.run()] + [x.grad for x in self.leaves() if x.grad is not None]
