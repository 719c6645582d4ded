"""Linear recurrences with a state per head, chunk by chunk, in plain PyTorch.

Tokens [N, T, D] with N heads; the state [N, K, V] is kept in float32, products are in the tokens' type. Within a chunk
everything is a product of matrices for all chunks at once; only the state runs from chunk to chunk.
  gla          S = diag(e^g) S + k vᵀ, a decay per channel
  delta_rule   S = S + beta k (v - Sᵀ k)ᵀ, in WY form: two solutions of a triangular system per chunk
  ssd          S = e^g S + k vᵀ, a decay per head (Mamba-2)
"""
import torch
import torch.nn.functional as F

from common import dtype_of, maybe_compile


def cut(x, size):
    return x.unflatten(1, (x.size(1) // size, size))


def later(size):
    return torch.ones(size, size, dtype=torch.bool).triu(1)


def chunks(*tensors):
    """One after the other. Taken apart at once: a slice per chunk would have a whole tensor of zeros for its gradient."""
    return zip(*(x.unbind(1) for x in tensors))


def run(within, q, k, v, whole):
    """O = within + q S, S = whole * S + kᵀ v, chunk by chunk."""
    state = torch.zeros(q.size(0), q.size(3), v.size(3))
    rows = []
    for mine, read, key, value, kept in chunks(within, q, k, v, whole):
        rows.append(mine + read @ state.to(q.dtype))
        state = kept * state + (key.transpose(1, 2) @ value).float()
    return torch.cat(rows, 1)


def ssd(q, k, v, g, size):
    type_ = q.dtype
    q, k, v, sums = cut(q, size), cut(k, size), cut(v, size), cut(g, size).cumsum(2)
    decay = (sums.unsqueeze(3) - sums.unsqueeze(2)).masked_fill(later(size), float("-inf")).exp().to(type_)
    within = ((q @ k.transpose(2, 3)) * decay) @ v
    end = sums[:, :, -1:]
    return run(within, q * sums.exp().unsqueeze(3).to(type_), k * (end - sums).exp().unsqueeze(3).to(type_), v,
               end.exp().unsqueeze(3))


def products_factorised(q, k, sums):
    """Right as long as no channel falls by more than e^-80 within a chunk."""
    type_ = q.dtype
    middle = sums[:, :, -1:] / 2
    return ((q * (sums - middle).exp().to(type_)) @ (k * (middle - sums).exp().to(type_)).transpose(2, 3)).tril()


def products_halved(q, k, sums):
    """Right for any decay: a token between later queries and earlier keys, and differences from it."""
    type_, size = q.dtype, q.size(2)
    blocks = (q * k).sum(3)[..., None, None]
    half = 1
    while half < size:
        split = (size // (2 * half), 2, half)
        q2, k2, s2 = (x.unflatten(2, split) for x in (q, k, sums))
        between = s2[:, :, :, 1, :1]
        off = (q2[:, :, :, 1] * (s2[:, :, :, 1] - between).exp().to(type_)) @ (
            k2[:, :, :, 0] * (between - s2[:, :, :, 0]).exp().to(type_)).transpose(3, 4)
        pairs = blocks.unflatten(2, (size // (2 * half), 2))
        first, second = pairs[:, :, :, 0], pairs[:, :, :, 1]
        blocks = torch.cat([torch.cat([first, torch.zeros_like(first)], 4), torch.cat([off, second], 4)], 3)
        half *= 2
    return blocks.squeeze(2)


def gla(q, k, v, g, size, products):
    type_ = q.dtype
    q, k, v, sums = cut(q, size) * q.size(2) ** -0.5, cut(k, size), cut(v, size), cut(g, size).cumsum(2)
    end = sums[:, :, -1:]
    return run(products(q, k, sums) @ v, q * sums.exp().to(type_), k * (end - sums).exp().to(type_), v,
               end.exp().transpose(2, 3))


def delta_rule(q, k, v, beta, size):
    type_ = q.dtype
    q, k, v, beta = cut(q, size) * q.size(2) ** -0.5, cut(k, size), cut(v, size), cut(beta, size).unsqueeze(3)
    triangle = (beta * (k @ k.transpose(2, 3)).float()).tril(-1) + torch.eye(size)
    solved = torch.linalg.solve_triangular(triangle, beta * torch.cat([v, k], 3).float(), upper=False,
                                           unitriangular=True)
    u, w = solved[..., :v.size(3)], solved[..., v.size(3):].to(type_)
    weights = (q @ k.transpose(2, 3)).tril()
    state = torch.zeros(q.size(0), q.size(3), v.size(3))
    rows = []
    for read, key, value, seen, pairs in chunks(q, k, u, w, weights):
        now = state.to(type_)
        written = (value - (seen @ now).float()).to(type_)
        rows.append(read @ now + pairs @ written)
        state = state + (key.transpose(1, 2) @ written).float()
    return torch.cat(rows, 1)


FORMS = {
    "ssd 64": lambda *x: ssd(*x, 64),
    "ssd 128": lambda *x: ssd(*x, 128),
    "gla factorised": lambda *x: gla(*x, 64, products_factorised),
    "gla halved": lambda *x: gla(*x, 64, products_halved),
    "delta_rule 64": lambda *x: delta_rule(*x, 64),
    "delta_rule 32": lambda *x: delta_rule(*x, 32),
}


class Recurrence:
    """Draws the numbers that lact/bench/recurrences.cpp draws."""

    def __init__(self, rule, heads, tokens, width, backward, form, precision, compile=False):
        torch.manual_seed(17)
        type_ = dtype_of(precision)

        def draw(channels):
            return torch.randn(1, heads, tokens, channels)[0]

        def leaf(x):
            return x.detach().contiguous().requires_grad_(backward)

        def unit(x):
            return x / (x.norm(dim=-1, keepdim=True) + 1e-5)

        self.q, self.k, self.v = (leaf(x.to(type_)) for x in (draw(width), unit(draw(width)), draw(width)))
        gate = draw(width if rule == "gla" else 1)
        if rule == "gla":
            gate = F.logsigmoid(gate) / 16
        elif rule == "ssd":
            gate = -F.softplus(gate - 4.6).squeeze(2)
        else:
            gate = torch.sigmoid(gate).squeeze(2)
        self.gate = leaf(gate)
        self.cotangent = draw(width).to(type_)
        self.backward = backward
        self.function = maybe_compile(FORMS[rule + " " + form], compile)

    def leaves(self):
        return [self.q, self.k, self.v, self.gate]

    def prepare(self):
        for x in self.leaves():
            x.grad = None

    def run(self):
        self.prepare()
        with torch.set_grad_enabled(self.backward):
            out = self.function(*self.leaves())
        if self.backward:
            out.backward(self.cotangent)
        return out.detach()

    def tensors(self):
        return [self.run()] + [x.grad for x in self.leaves() if x.grad is not None]
