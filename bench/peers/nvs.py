"""The view-synthesis model in plain PyTorch: attention inside each image, test-time training on all input images at once
(SwiGLU fast weights, Muon), GELU feed-forward, layer norms. Parameters are float32 and are cast where they are used."""
import math

import torch
import torch.nn.functional as F

import ttt
from common import FIXED, dtype_of, maybe_compile
from lm import linear, rms_norm

RAYS, COLORS = 9, 3


def layer_norm(x, weight):
    return F.layer_norm(x.float(), weight.shape, weight, None, 1e-5).to(x.dtype)


class Block(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.sizes = sizes
        width, hidden, heads = sizes["width"], sizes["hidden"], sizes["memory_heads"]
        head, fast = width // heads, sizes["fast_hidden"]

        def matrix(*shape, std=0.02):
            return torch.nn.Parameter(torch.randn(*shape) * std)

        self.norms = torch.nn.ParameterList(torch.nn.Parameter(torch.ones(width)) for _ in range(3))
        self.qkv, self.output = matrix(3 * width, width), matrix(width, width)
        self.head_norms = torch.nn.ParameterList(
            torch.nn.Parameter(torch.ones(width // sizes["heads"])) for _ in range(2))
        self.memory_qkv, self.memory_output = matrix(3 * width, width), matrix(width, width)
        self.fast = torch.nn.ParameterList(matrix(heads, rows, cols, std=(2 / cols) ** 0.5)
                                           for rows, cols in ((fast, head), (head, fast), (fast, head)))
        self.rate, self.rate_bias = matrix(3 * heads, width), torch.nn.Parameter(torch.zeros(3 * heads))
        self.fast_norm = torch.nn.Parameter(torch.ones(head))
        self.up, self.down = matrix(hidden, width), matrix(width, hidden)

    def look(self, x, tokens):
        """x [T, M] + attention inside images of so many tokens."""
        q, k, v = (y.view(-1, tokens, self.sizes["heads"], y.size(1) // self.sizes["heads"]).transpose(1, 2)
                   for y in linear(layer_norm(x, self.norms[0]), self.qkv).chunk(3, -1))
        epsilon = torch.finfo(torch.float32).eps
        q, k = rms_norm(q, self.head_norms[0], epsilon), rms_norm(k, self.head_norms[1], epsilon)
        scores = (q / math.sqrt(q.size(3))) @ k.transpose(2, 3)
        mixed = torch.softmax(scores.float(), -1).to(x.dtype) @ v
        return x + linear(mixed.transpose(1, 2).reshape(x.shape), self.output)

    def memory_heads(self, y):
        """[T, M] -> [heads, T, D]"""
        return y.view(y.size(0), self.sizes["memory_heads"], -1).transpose(0, 1)

    def prepared(self, y):
        y = self.memory_heads(F.silu(y))
        return (y / (y.float().norm(dim=-1, keepdim=True) + 1e-5)).to(y.dtype)

    def written(self, normed):
        """The fast weights after one update with all tokens."""
        k, v = linear(normed, self.memory_qkv[normed.size(1):]).chunk(2, -1)
        rate = F.softplus(linear(normed.float(), self.rate, self.rate_bias) + math.log(math.expm1(0.01)))
        rates = [r.t()[:, :, None] for r in rate.view(normed.size(0), 3, -1).unbind(1)]
        weights = list(self.fast)
        norms = [w.norm(dim=2, keepdim=True) for w in weights]
        directions = ttt.directions_token_major(*[w.to(k.dtype) for w in weights], self.prepared(k),
                                                self.memory_heads(F.silu(v)), rates)
        return ttt.write(weights, norms, None, [d.float() for d in directions], None, True, FIXED, k.dtype)[0]

    def recall(self, x, weights):
        normed = layer_norm(x, self.norms[1])
        q = self.prepared(linear(normed, self.memory_qkv[:normed.size(1)]))
        read = rms_norm(ttt.apply_token_major(*[w.to(q.dtype) for w in weights], q), self.fast_norm, 1e-5)
        x = x + linear(read.transpose(0, 1).reshape(x.shape), self.memory_output)
        return x + linear(F.gelu(linear(layer_norm(x, self.norms[2]), self.up)), self.down)


class Model(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        width, self.patch = sizes["width"], sizes["patch"]
        area = self.patch ** 2
        self.input = torch.nn.Parameter(torch.randn(width, (RAYS + COLORS) * area) * 0.02)
        self.blocks = torch.nn.ModuleList(Block(sizes) for _ in range(sizes["layers"]))
        self.input_norm, self.norm = (torch.nn.Parameter(torch.ones(width)) for _ in range(2))
        self.decoder = torch.nn.Parameter(torch.randn(COLORS * area, width) * 0.02)

    def embed(self, views, type_):
        """[V, 12, H, W] -> [T, M]"""
        patches = F.unfold(views, self.patch, stride=self.patch).transpose(1, 2).flatten(0, 1)
        return layer_norm(linear(patches, self.input), self.input_norm).to(type_)

    def decode(self, x, views, side):
        pixels = torch.sigmoid(linear(layer_norm(x, self.norm), self.decoder).float())
        return F.fold(pixels.view(views, -1, pixels.size(1)).transpose(1, 2), side, self.patch, stride=self.patch)

    def reconstruct(self, x, tokens):
        memory = []
        for i, block in enumerate(self.blocks):
            x = block.look(x, tokens)
            memory.append(block.written(layer_norm(x, block.norms[1])))
            if i + 1 < len(self.blocks):
                x = block.recall(x, memory[-1])
        return memory

    def render(self, x, tokens, memory):
        for block, weights in zip(self.blocks, memory):
            x = block.recall(block.look(x, tokens), weights)
        return x

    def forward(self, x, tokens, inputs):
        """Inputs and then targets -> the targets' tokens."""
        for block in self.blocks:
            x = block.look(x, tokens)
            x = block.recall(x, block.written(layer_norm(x[:inputs], block.norms[1])))
        return x[inputs:]


class Task:
    def __init__(self, sizes, inputs, targets, size, precision, compile=False):
        torch.manual_seed(17)
        self.type, self.side, self.targets = dtype_of(precision), size, targets
        self.model = Model(sizes)
        self.tokens = (size // sizes["patch"]) ** 2
        self.inputs = torch.randn(inputs, RAYS + COLORS, size, size)
        self.rays = torch.cat([torch.randn(targets, RAYS, size, size), torch.zeros(targets, COLORS, size, size)], 1)
        self.images = torch.rand(targets, COLORS, size, size)
        for name in ("reconstruct", "render", "forward"):
            setattr(self, name, maybe_compile(getattr(self.model, name), compile))

    def prepare(self):
        pass

    def tensors(self):
        """Parameters, to count them."""
        return [torch.ones(p.numel()).sqrt() for p in self.model.parameters()]


class Reconstruct(Task):
    def run(self):
        with torch.no_grad():
            return self.reconstruct(self.model.embed(self.inputs, self.type), self.tokens)


class Render(Task):
    """One view from a scene that was read."""

    def __init__(self, **words):
        super().__init__(**words)
        with torch.no_grad():
            self.memory = self.model.reconstruct(self.model.embed(self.inputs, self.type), self.tokens)

    def run(self):
        with torch.no_grad():
            x = self.render(self.model.embed(self.rays[:1], self.type), self.tokens, self.memory)
            return self.model.decode(x, 1, self.side)


class Train(Task):
    """Forward, loss, backward, clipping and AdamW."""

    def __init__(self, **words):
        super().__init__(**words)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1)

    def run(self):
        self.optimizer.zero_grad(set_to_none=True)
        x = self.model.embed(torch.cat([self.inputs, self.rays]), self.type)
        found = self.forward(x, self.tokens, self.inputs.size(0) * self.tokens)
        F.mse_loss(self.model.decode(found, self.targets, self.side), self.images).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
