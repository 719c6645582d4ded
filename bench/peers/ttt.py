"""Test-time training of SwiGLU fast weights, chunk by chunk (paper, algorithm 1), in plain PyTorch.

Tokens [N, T, D] with N = batch · heads; gate, up [N, F, D], down [N, D, F], kept in float32; products in the tokens'
type. A chunk is written and then read. Row norms go back to where they began after each update.
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


FORMS = {"official": (apply_official, directions_official),
         "token_major": (apply_token_major, directions_token_major)}


def write(weights, norms, momenta, directions, beta, muon, coefficients, iteration):
    """One update of the three matrices; returns new weights and momenta."""
    if beta is not None:
        decay = beta.mean(1, keepdim=True)
        directions = [d + m * decay for d, m in zip(directions, momenta)]
        momenta = directions
    if muon:
        steps = [newton_schulz(d, iteration, coefficients) for d in directions]
    else:
        steps = directions
    moved = [w + s for w, s in zip(weights, steps)]
    return [w / (w.norm(dim=2, keepdim=True) + 1e-5) * n for w, n in zip(moved, norms)], momenta


def scan(form, q, k, v, weights, rates, beta, chunk, muon, coefficients=FIXED, shifted=False):
    """weights and rates in the order gate, down, up. `shifted`: a chunk is read, then written; the last is not."""
    apply, directions = FORMS[form]
    type_ = q.dtype
    norms = [w.norm(dim=2, keepdim=True) for w in weights]
    momenta = [torch.zeros_like(w) for w in weights] if beta is not None else None
    outputs = []
    for begin in range(0, q.size(1), chunk):
        end = min(begin + chunk, q.size(1))
        if shifted:
            outputs.append(apply(*[w.to(type_) for w in weights], q[:, begin:end]))
        if not shifted or end < q.size(1):
            g = directions(*[w.to(type_) for w in weights], k[:, begin:end], v[:, begin:end],
                           [rate[:, begin:end] for rate in rates])
            weights, momenta = write(weights, norms, momenta, [d.float() for d in g],
                                     beta[:, begin:end] if beta is not None else None, muon, coefficients, type_)
        if not shifted:
            outputs.append(apply(*[w.to(type_) for w in weights], q[:, begin:end]))
    return torch.cat(outputs, 1) if len(outputs) > 1 else outputs[0]


class Ttt:
    """Draws the numbers that lact/bench/ttt_problem.cpp draws."""

    def __init__(self, heads, tokens, chunk, width, hidden, muon, momentum, backward, form, precision, compile=False):
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
        for rows, cols in ((hidden, width), (width, hidden), (hidden, width)):
            self.weights.append(leaf(torch.randn(1, heads, rows, cols)[0] / math.sqrt(cols)))
            self.rates.append(leaf(draw(1).abs() * 0.01))
        self.beta = leaf(torch.sigmoid(draw(1))) if momentum else None
        self.cotangent = draw(width).to(type_)
        self.chunk, self.muon, self.form, self.backward = chunk, muon, form, backward
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
