"""Puts a LaCT layer where a transformer has its attention, and asks what that is good for.

    PYTHONPATH=build/release/python python3 examples/lact_in_a_transformer.py

The task is recall: tokens tell a value for each of some keys, and long after the window has passed, every key is asked for.
A window of attention cannot know; a memory of fast weights, which is written chunk by chunk, learns to.
"""
import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn

import lact_torch

KEYS, VALUES, FILLER = 16, 16, 48
WIDTH, HEADS, WINDOW, CHUNK = 64, 4, 16, 16


class WindowAttention(nn.Module):
    """What the model had before."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (HEADS, -1)) for y in self.qkv(x).chunk(3, -1))
        return self.out(lact_torch.window_attention(q, k, v, WINDOW).flatten(2))


def lact():
    return lact_torch.LaCTSWIGLULayer(WIDTH, num_attn_heads=HEADS, num_lact_heads=1, window_size=WINDOW,
                                      lact_chunk_size=CHUNK, use_momentum=True, use_muon=True, learnable_ttt_scale=True)


class Transformer(nn.Module):
    """Anyone's: it only has to be told what mixes tokens."""

    def __init__(self, make_mixer, layers=2):
        super().__init__()
        self.keys, self.values = nn.Embedding(KEYS + 1, WIDTH), nn.Embedding(VALUES + 1, WIDTH)
        self.mixers = nn.ModuleList(make_mixer() for _ in range(layers))
        self.mlps = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
                                  for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2 * layers + 1))
        self.head = nn.Linear(WIDTH, VALUES)

    def forward(self, keys, values):
        x = self.keys(keys) + self.values(values)
        for i, (mixer, mlp) in enumerate(zip(self.mixers, self.mlps)):
            x = x + mixer(self.norms[2 * i](x))
            x = x + mlp(self.norms[2 * i + 1](x))
        return self.head(self.norms[-1](x))


def batch(size):
    """Every key with its value in a random order, tokens that say nothing, and every key without its value."""
    told, asked = (torch.stack([torch.randperm(KEYS) for _ in range(size)]) for _ in range(2))
    value_of = torch.randint(VALUES, (size, KEYS))
    nothing = torch.full((size, FILLER), KEYS)
    keys = torch.cat([told, nothing, asked], 1)
    values = torch.full_like(keys, VALUES)
    values[:, :KEYS] = value_of.gather(1, told)
    return keys, values, value_of.gather(1, asked)


def train(name, make_mixer, steps):
    torch.manual_seed(0)
    model = Transformer(make_mixer)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    begin = time.time()
    for step in range(steps):
        keys, values, answers = batch(16)
        logits = model(keys, values)[:, -KEYS:]
        loss = F.cross_entropy(logits.flatten(0, 1), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 25 == 0 or step + 1 == steps:
            right = (logits.argmax(-1) == answers).float().mean().item()
            print(f"{name:17} step {step + 1:4}  loss {loss.item():.3f}  recalled {right:4.0%}  {time.time() - begin:.1f} s")
    return right


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    steps = parser.parse_args().steps
    print(f"{KEYS} facts, asked for after {FILLER} tokens; windows of {WINDOW}; chance is {1 / VALUES:.0%}")
    train("window attention", WindowAttention, steps)
    train("LaCT", lact, steps)
