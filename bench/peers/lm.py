"""The language model in plain PyTorch: blocks of sliding-window attention and test-time training over shared q, k, v,
SwiGLU feed-forward, RMS norms. Parameters are float32 and are cast where they are used, except when decoding."""
import math

import torch
import torch.nn.functional as F

import attention
import ttt
from common import VARIABLE, dtype_of, maybe_compile


def linear(x, weight, bias=None):
    return F.linear(x, weight.to(x.dtype), None if bias is None else bias.to(x.dtype))


def rms_norm(x, weight, epsilon):
    y = x.float()
    return (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + epsilon) * weight).to(x.dtype)


def rope(x, begin, base=1e6):
    """x [T, heads, width]; pairs are halves."""
    half = x.size(2) // 2
    frequency = base ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = torch.arange(begin, begin + x.size(0), dtype=torch.float64)[:, None] * frequency
    cos, sin = angle.cos().float()[:, None], angle.sin().float()[:, None]
    a, b = x[..., :half].float(), x[..., half:].float()
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)


class Block(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.sizes = sizes
        width, hidden, heads = sizes["width"], sizes["hidden"], sizes["memory_heads"]
        head, rank = width // heads, sizes["rank"]

        def matrix(*shape, std=0.02):
            return torch.nn.Parameter(torch.randn(*shape) * std)

        self.norm1, self.norm2 = (torch.nn.Parameter(torch.ones(width)) for _ in range(2))
        self.qkv, self.output = matrix(3 * width, width), matrix(width, width)
        self.gate, self.up, self.down = matrix(hidden, width), matrix(hidden, width), matrix(width, hidden)
        self.scale, self.shift = (torch.nn.Parameter(torch.ones(2, width)), torch.nn.Parameter(torch.zeros(2, width)))
        self.left = torch.nn.ParameterList(matrix(heads, head, rank, std=0.5 / rank ** 0.5) for _ in range(2))
        self.right = torch.nn.ParameterList(matrix(heads, rank, head, std=0.5 / head ** 0.5) for _ in range(2))
        self.fast_down = matrix(heads, head, head, std=1 / head ** 0.5)
        self.rate, self.rate_bias = matrix(3 * heads, width), torch.nn.Parameter(torch.zeros(3 * heads))
        self.beta, self.beta_bias = matrix(heads, width), torch.nn.Parameter(torch.zeros(heads))
        self.gain, self.gain_bias = matrix(heads, width), torch.nn.Parameter(torch.zeros(heads))
        self.fast_norm = torch.nn.Parameter(torch.ones(head))

    def initial_weights(self):
        head = self.fast_down.size(1)
        gate, up = (l.float() @ r.float() + 0.5 * torch.eye(head) for l, r in zip(self.left, self.right))
        return [gate, self.fast_down.float(), up]

    def project(self, x, begin):
        """x [T, M] -> attention's q, k, v [heads, T, D], memory's q, k, v [heads, T, D], rates, beta, gain."""
        s = self.sizes
        q, k, v = linear(x, self.qkv).chunk(3, -1)
        heads, count = s["attention_heads"], x.size(0)

        def split(y, number):
            return y.view(count, number, -1)

        local = [rope(split(y, heads), begin).transpose(0, 1) for y in (q, k)] + [split(v, heads).transpose(0, 1)]

        def prepare(y, i):
            y = split(F.silu(y * self.scale[i].to(y.dtype) + self.shift[i].to(y.dtype)), s["memory_heads"])
            y = (y / (y.float().norm(dim=-1, keepdim=True) + 1e-5)).to(x.dtype).reshape(count, -1)
            return split(rope(split(y, heads), begin).reshape(count, -1), s["memory_heads"]).transpose(0, 1)

        memory = [prepare(q, 0), prepare(k, 1), split(F.silu(v), s["memory_heads"]).transpose(0, 1)]
        wide = x.float()
        rate = F.softplus(linear(wide, self.rate, self.rate_bias) + math.log(math.expm1(0.001)))
        rates = [r.t()[:, :, None] for r in rate.view(count, s["memory_heads"], 3).unbind(2)]
        beta = torch.sigmoid(linear(wide, self.beta, self.beta_bias)).t()[:, :, None]
        gain = F.silu(linear(x, self.gain, self.gain_bias)).t()[:, :, None]
        return local, memory, rates, beta, gain

    def merge(self, x, local, read, gain):
        """Both branches [heads, T, D] -> the block's output [T, M]."""
        read = rms_norm(read, self.fast_norm, 1e-5) * gain
        mixed = local.transpose(0, 1).reshape(x.size(0), -1) + read.transpose(0, 1).reshape(x.size(0), -1)
        x = x + linear(mixed, self.output)
        y = rms_norm(x, self.norm2, 1e-6)
        return x + linear(F.silu(linear(y, self.gate)) * linear(y, self.up), self.down)

    def forward(self, x):
        s = self.sizes
        local, memory, rates, beta, gain = self.project(rms_norm(x, self.norm1, 1e-6), 0)
        attended = attention.chunked(*local, s["window"])
        read = ttt.scan("token_major", *memory, self.initial_weights(), rates, beta, s["chunk"], True, VARIABLE, True)
        return self.merge(x, attended, read, gain)

    def step(self, x, state, position):
        """One token, continuing from a state."""
        local, memory, rates, beta, gain = self.project(rms_norm(x, self.norm1, 1e-6), position)
        window = self.sizes["window"]
        state["k"] = torch.cat([state["k"], local[1]], 1)[:, -window:]
        state["v"] = torch.cat([state["v"], local[2]], 1)[:, -window:]
        scores = (local[0] / math.sqrt(local[0].size(2))) @ state["k"].transpose(1, 2)
        attended = torch.softmax(scores.float(), -1).to(x.dtype) @ state["v"]
        state["pending"].append((memory[1], memory[2], rates, beta))  # written at the end of the chunk
        read = ttt.apply_token_major(*state["weights"], memory[0])
        return self.merge(x, attended, read, gain)


class Model(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.embeddings = torch.nn.Parameter(torch.randn(sizes["vocabulary"], sizes["width"]) * 0.02)
        self.blocks = torch.nn.ModuleList(Block(sizes) for _ in range(sizes["layers"]))
        self.norm = torch.nn.Parameter(torch.ones(sizes["width"]))
        self.head = torch.nn.Parameter(torch.randn(sizes["vocabulary"], sizes["width"]) * 0.02)

    def hidden(self, ids, type_):
        x = F.embedding(ids, self.embeddings).to(type_)
        for block in self.blocks:
            x = block(x)
        return rms_norm(x, self.norm, 1e-6)


class Task:
    def __init__(self, sizes, tokens, precision, compile=False):
        torch.manual_seed(17)
        self.type = dtype_of(precision)
        self.model = Model(sizes)
        self.ids = torch.randint(sizes["vocabulary"], (tokens + 1,))
        self.hidden = maybe_compile(self.model.hidden, compile)

    def prepare(self):
        pass


class Prefill(Task):
    """Hidden states of all tokens, logits of the last."""

    def run(self):
        with torch.no_grad():
            x = self.hidden(self.ids[:-1], self.type)
            linear(x[-1:], self.model.head).float()


class Train(Task):
    """Forward, loss, backward, clipping and AdamW."""

    def __init__(self, **words):
        super().__init__(**words)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1)

    def run(self):
        self.optimizer.zero_grad(set_to_none=True)
        logits = linear(self.hidden(self.ids[:-1], self.type), self.model.head)
        loss = F.cross_entropy(logits.float(), self.ids[1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()

    def tensors(self):
        """Parameters, to count them."""
        return [torch.ones(p.numel()).sqrt() for p in self.model.parameters()]


class Decode(Task):
    """`count` tokens at a depth. The state has the sizes of one that has read so much; its numbers do not matter."""

    def __init__(self, sizes, depth, count, precision, compile=False):
        super().__init__(sizes, count, precision)
        self.model.to(self.type)
        self.depth, self.count, self.sizes = depth, count, sizes

    def prepare(self):
        s = self.sizes
        kept = min(self.depth, s["window"])
        shape = (s["attention_heads"], kept, s["width"] // s["attention_heads"])
        with torch.no_grad():
            self.states = [{"k": torch.randn(shape).to(self.type), "v": torch.randn(shape).to(self.type), "pending": [],
                            "weights": [w.to(self.type) for w in block.initial_weights()]}
                           for block in self.model.blocks]

    def run(self):
        with torch.no_grad():
            for i in range(self.count):
                x = F.embedding(self.ids[i:i + 1], self.model.embeddings)
                for block, state in zip(self.model.blocks, self.states):
                    x = block.step(x, state, self.depth + i)
                linear(rms_norm(x, self.model.norm, 1e-6), self.model.head).float().argmax()
