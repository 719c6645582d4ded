"""lact_torch against the authors' form in plain PyTorch, in one process and on the same tensors: the fast-weight operation
and the whole language-model layer, forward alone and with the backward pass, bfloat16.

    PYTHONPATH=build/release/python python3 bench/torch_ops.py

Both must give the same numbers before a time is printed. The best of several runs counts, taken in turns.
"""
import argparse
import sys
import time
from pathlib import Path

import torch

import lact_torch
from lact_torch import update_rule

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))
import attention  # noqa: E402
import common  # noqa: E402
import lm  # noqa: E402
import ttt  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--chunk", type=int, default=1024)
    parser.add_argument("--width", type=int, default=1024, help="of the model")
    parser.add_argument("--heads", type=int, default=4, help="of the memory")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--precision", choices=("bf16", "f32"), default="bf16")
    return parser.parse_args()


def best_times(runs, times):
    """Seconds of each, the best of so many, in turns."""
    best = [float("inf")] * len(runs)
    for _ in range(times):
        for i, run in enumerate(runs):
            begin = time.perf_counter()
            run()
            best[i] = min(best[i], time.perf_counter() - begin)
    return best


def distance(a, b):
    return ((a.float() - b.float()).norm() / b.float().norm()).item()


def compare(title, ours, theirs, parameters, o):
    """ours and theirs return an output of the same inputs, the first of which is compared by its gradient, too. Muon's
    Newton-Schulz makes much of the last bits of bfloat16."""
    allowed = {"f32": 1e-3, "bf16": 0.2}[o.precision]
    cotangent, results = None, []
    for run in (ours, theirs):
        out = run()
        cotangent = torch.randn_like(out) if cotangent is None else cotangent
        results.append((out.detach(), *torch.autograd.grad(out, parameters[:1], cotangent)))
    error = max(distance(mine, other) for mine, other in zip(*results))
    if not error < allowed:
        sys.exit(f"{title}: the two differ by {error:.2e}, allowed is {allowed:.0e}")

    def forward(run):
        def timed():
            with torch.no_grad():
                run()
        return timed

    def both(run):
        def timed():
            for parameter in parameters:
                parameter.grad = None
            run().backward(cotangent)
        return timed

    print(f"{title} (relative difference {error:.1e})")
    for name, wrap in (("forward", forward), ("forward and backward", both)):
        fast, slow = best_times([wrap(ours), wrap(theirs)], o.times)
        print(f"  {name:22} {1e3 * fast:9.1f} ms {1e3 * slow:9.1f} ms {slow / fast:6.1f} times")


def operation(o):
    """Momentum and Muon over shifted chunks, as in the authors' language model."""
    width = o.width // o.heads
    type_ = common.dtype_of(o.precision)
    torch.manual_seed(0)
    leaf = lambda x: x.requires_grad_()
    q, k = (leaf(torch.nn.functional.normalize(torch.randn(o.heads, o.tokens, width), dim=-1).to(type_)) for _ in range(2))
    v = leaf(torch.randn(o.heads, o.tokens, width).to(type_))
    weights = [leaf(torch.randn(o.heads, width, width) / width ** 0.5) for _ in range(3)]
    rates = [leaf(torch.rand(o.heads, o.tokens, 1) * 0.01) for _ in range(3)]
    beta = leaf(torch.rand(o.heads, o.tokens, 1))
    rule = update_rule(momentum=True, muon=True, newton_schulz_coefficients="variable")

    def ours():
        def tokens_first(x):
            return x.transpose(0, 1).unsqueeze(0)
        out, _ = lact_torch.chunk_lact(*map(tokens_first, (q, k, v)), weights, [tokens_first(r) for r in rates],
                                       tokens_first(beta), chunk_size=o.chunk, rule=rule)
        return out[0].transpose(0, 1)

    def theirs():
        return ttt.scan("official", q, k, v, weights, rates, beta, o.chunk, True, common.VARIABLE, shifted=True)

    parameters = [q, k, v, *weights, *rates, beta]
    compare(f"chunk_lact, {o.heads} heads of {width}, {o.tokens} tokens, chunks of {o.chunk}", ours, theirs, parameters, o)


def layer(o):
    """The layer alone: projections, window attention, memory; the block's feed-forward network is left out."""
    type_, attention_heads = common.dtype_of(o.precision), max(1, o.width // 64)
    sizes = {"width": o.width, "hidden": 1, "memory_heads": o.heads, "rank": 32, "attention_heads": attention_heads,
             "window": o.chunk, "chunk": o.chunk}
    torch.manual_seed(0)
    block = lm.Block(sizes)
    mine = lact_torch.LaCTSWIGLULayer(o.width, attention_heads, o.heads, window_size=o.chunk, lact_chunk_size=o.chunk,
                                      attn_qk_norm=False, use_muon=True, learnable_ttt_scale=True, rope_theta=1e6,
                                      w0_w2_low_rank=32, use_momentum=True)
    mine.load_state_dict({
        "qkv.weight": block.qkv, "o_proj.weight": block.output, "qk_scale": block.scale.t(), "qk_offset": block.shift.t(),
        "w0.w_left": block.left[0], "w0.w_right": block.right[0], "w2.w_left": block.left[1], "w2.w_right": block.right[1],
        "w1": block.fast_down, "lr_proj.weight": block.rate, "lr_proj.bias": block.rate_bias,
        "momentum_proj.0.weight": block.beta, "momentum_proj.0.bias": block.beta_bias, "ttt_scale_proj.weight": block.gain,
        "ttt_scale_proj.bias": block.gain_bias, "ttt_norm.weight": block.fast_norm})
    x = torch.randn(1, o.tokens, o.width).to(type_).requires_grad_()

    def theirs():
        local, memory, rates, beta, gain = block.project(x[0], 0)
        attended = attention.chunked(*local, o.chunk)
        read = ttt.scan("official", *memory, block.initial_weights(), rates, beta, o.chunk, True, common.VARIABLE,
                        shifted=True)
        read = lm.rms_norm(read, block.fast_norm, 1e-5) * gain
        mixed = attended.transpose(0, 1).reshape(o.tokens, -1) + read.transpose(0, 1).reshape(o.tokens, -1)
        return lm.linear(mixed, block.output).unsqueeze(0)

    compare(f"LaCTSWIGLULayer, width {o.width}, {o.tokens} tokens, chunks and window of {o.chunk}", lambda: mine(x), theirs,
            [x, *mine.parameters(), *block.parameters()], o)


if __name__ == "__main__":
    options = arguments()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {options.precision}: lact_torch, authors' form")
    operation(options)
    layer(options)
