#!/usr/bin/python3
"""Writes the golden cases of this folder: <name>.json + <name>.safetensors.

An implementation of large-chunk test-time training that shares nothing with the library: plain numpy in float64,
written from the algorithm. Inputs are rounded to float32 before anything is computed, so the stored inputs are exact.

Gradients are complex-step derivatives, one forward pass per element: every formula below is analytic, so
f(x + i h) = f(x) + i h f'(x) with h = 1e-30 gives f'(x) to rounding. Each gradient is then checked against a central
difference along a random direction.

Usage: python3 tests/golden/generate.py [folder]
"""
import json
import os
import struct
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are tiny
import numpy as np

# ---------------------------------------------------------------------------------------------------- elementary pieces


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def silu_derivative(x):
    s = sigmoid(x)
    return s * (1 + x * (1 - s))


def softplus(x):
    return np.log1p(np.exp(x))


def inverse_softplus(y):
    return np.log(np.exp(y) - 1)


def transposed(x):
    return np.swapaxes(x, -2, -1)


def norm(x, axis):
    """Euclidean norm, kept analytic: no absolute value."""
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=True))


def l2_normalised(x):
    return x / (norm(x, -1) + 1e-5)


def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def linear(x, p, name):
    y = x @ p[name + ".weight"].T
    return y + p[name + ".bias"] if name + ".bias" in p else y


def split_heads(x, heads):
    """[B, T, heads * d] -> [B * heads, T, d], the batch outside."""
    b, t, c = x.shape
    return x.reshape(b, t, heads, c // heads).transpose(0, 2, 1, 3).reshape(b * heads, t, c // heads)


def merge_heads(x, batch):
    """[B * heads, T, d] -> [B, T, heads * d]."""
    n, t, d = x.shape
    return x.reshape(batch, n // batch, t, d).transpose(0, 2, 1, 3).reshape(batch, t, n // batch * d)


# -------------------------------------------------------------------------------------------------------- Newton-Schulz

FIXED = (3.4445, -4.7750, 2.0315)
VARIABLE = ((4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (3.7418, -5.5913, 2.3037), (2.8769, -3.1427, 1.2046),
            (2.8366, -3.0525, 1.2012))


def newton_schulz(g, options):
    """Orthogonalises matrices [..., rows, cols]."""
    steps = options["steps"]
    if options["coefficients"] == "variable":
        assert steps == len(VARIABLE)
        table = VARIABLE
    else:
        table = (FIXED,) * steps
    x = g / (np.sqrt(np.sum(g * g, axis=(-2, -1), keepdims=True)) + 1e-7)
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = transposed(x)
    for a, b, c in table:
        xx = x @ transposed(x)
        x = a * x + (b * xx + c * xx @ xx) @ x
    return transposed(x) if tall else x


# -------------------------------------------------------------------------------- test-time training, weights [out, in]


def network_apply(weights, x):
    """[N, T, in] -> [N, T, out]. One weight: W x. Three: w1 (silu(w0 x) * (w2 x))."""
    if len(weights) == 1:
        return x @ transposed(weights[0])
    w0, w1, w2 = weights
    return (silu(x @ transposed(w0)) * (x @ transposed(w2))) @ transposed(w1)


def network_ascent(weights, k, v, rates):
    """sum over the tokens of rate * gradient of <f(k), v>: what the dot product loss -<f(k), v> makes an update add.

    The rates are [N, T, 1] or per channel of the matrix's input: [N, T, in].
    """
    if len(weights) == 1:
        return [transposed(v) @ (k * rates[0])]
    w0, w1, w2 = weights
    gate, up = k @ transposed(w0), k @ transposed(w2)
    hidden = silu(gate) * up
    d_hidden = v @ w1
    d_gate = d_hidden * up * silu_derivative(gate)
    d_up = d_hidden * silu(gate)
    return [transposed(d_gate) @ (k * rates[0]), transposed(v) @ (hidden * rates[1]), transposed(d_up) @ (k * rates[2])]


def input_norms(weights):
    return [norm(w, -1) for w in weights]


def ttt(weights, q, k, v, rates, beta, schedule, newton_schulz_options=None, prenorm=False, target_norms=None):
    """Runs a schedule of [operation, begin, end]; returns the outputs [N, T, out] and the weights after it.

    After an update every row has the norm that it had at the start of the call (target_norms, if these are to be
    constants for the gradient). With prenorm the weights accumulate updates without that, and a normalised copy is what
    is applied, differentiated and returned.
    """
    if target_norms is None:
        target_norms = input_norms(weights)
    kept, used = list(weights), list(weights)
    momentum = [0] * len(weights)
    out = np.zeros(v.shape, dtype=np.result_type(q, k, v, *weights, *rates, *([] if beta is None else [beta])))
    for operation, begin, end in schedule:
        chunk = slice(begin, end)
        if operation in ("apply_then_update", "apply_only"):
            out[:, chunk] = network_apply(used, q[:, chunk])
        if operation != "apply_only":
            step = network_ascent(used, k[:, chunk], v[:, chunk], [r[:, chunk] for r in rates])
            if beta is not None:
                share = np.mean(beta[:, chunk], axis=1, keepdims=True)
                momentum = [share * m + s for m, s in zip(momentum, step)]
                step = momentum
            if newton_schulz_options is not None:
                step = [newton_schulz(s, newton_schulz_options) for s in step]
            kept = [w + s for w, s in zip(kept, step)]
            used = [w / (norm(w, -1) + 1e-5) * n for w, n in zip(kept, target_norms)]
            if not prenorm:
                kept = used
        if operation == "update_then_apply":
            out[:, chunk] = network_apply(used, q[:, chunk])
    return out, used


def shifted_schedule(tokens, chunk):
    """Every chunk is applied before it updates; the last one is only applied."""
    starts = range(0, tokens, chunk)
    return [["apply_then_update", s, s + chunk] if s + chunk < tokens else ["apply_only", s, tokens] for s in starts]


def block_schedule(tokens, chunk):
    return [["update_then_apply", s, min(s + chunk, tokens)] for s in range(0, tokens, chunk)]


# ------------------------------------------------------------------------------------------------------------ attention


def attention(q, k, v, mask):
    """Softmax attention of [B, T, heads, d] where mask [T, T] is true."""
    scores = np.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(q.shape[-1])
    weights = np.where(mask, np.exp(scores - np.max(scores.real, axis=-1, keepdims=True)), 0)
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    return np.einsum("bhij,bjhd->bihd", weights, v)


def head_attention(q, k, v, heads, mask):
    """The same for [B, T, heads * d]."""
    b, t, c = q.shape
    rows = [x.reshape(b, t, heads, c // heads) for x in (q, k, v)]
    return attention(*rows, mask).reshape(b, t, c)


def sliding_mask(tokens, window):
    i, j = np.indices((tokens, tokens))
    return (j <= i) & (j > i - window)


def block_mask(blocks, tokens_per_block):
    block = np.arange(blocks * tokens_per_block) // tokens_per_block
    return block[:, None] == block[None, :]


def video_windows(num_chunks, repeat):
    """The interleaved sequence, as (chunk, is it clean): noisy copies of a chunk, then the clean one (not the last)."""
    windows = []
    for chunk in range(num_chunks):
        windows += [(chunk, False)] * repeat
        if chunk + 1 < num_chunks:
            windows.append((chunk, True))
    return windows


def video_mask(num_chunks, repeat, tokens, kv_cache_size=None, all_clean=False):
    """Every window sees itself. A noisy window sees the last kv_cache_size tokens of the clean chunk before it as well;
    with all_clean it sees all clean chunks before it, and so does a clean one."""
    windows = video_windows(num_chunks, repeat)
    mask = np.zeros((len(windows) * tokens,) * 2, dtype=bool)
    for row, (chunk, clean) in enumerate(windows):
        for column, (other, other_clean) in enumerate(windows):
            view = mask[row * tokens:(row + 1) * tokens, column * tokens:(column + 1) * tokens]
            if row == column or (all_clean and other_clean and other < chunk):
                view[:] = True
            elif not all_clean and not clean and other_clean and other == chunk - 1:
                view[:, tokens - (tokens if kv_cache_size is None else kv_cache_size):] = True
    return mask


# ---------------------------------------------------------------------------------------------------- rotary embeddings


def rope_halves(x, heads, theta):
    """Rotates (first half, second half) of every head of [B, T, heads * d] by position * theta^(-2 i / d)."""
    b, t, c = x.shape
    half = c // heads // 2
    angles = np.arange(t)[:, None] * theta ** (-np.arange(half) / half)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    x = x.reshape(b, t, heads, 2 * half)
    first, second = x[..., :half], x[..., half:]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], -1).reshape(b, t, c)


def rope_3d(x, heads, positions):
    """Rotates adjacent pairs of every head of [B, T, heads * d]; positions [T, 3] are frame, row and column.

    The d/2 pairs are shared out as (rest, a third, a third), each part with its own frequencies from base 10000.
    """
    b, t, c = x.shape
    pairs = c // heads // 2
    third = pairs // 3
    angles = np.concatenate([positions[:, i:i + 1] * 10000.0 ** (-np.arange(n) / n)
                             for i, n in enumerate((pairs - 2 * third, third, third))], -1)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    x = x.reshape(b, t, heads, pairs, 2)
    even, odd = x[..., 0], x[..., 1]
    return np.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(b, t, c)


# --------------------------------------------------------------------------------------------------------------- layers


def parameters(tensors):
    return {name[len("param."):]: tensor for name, tensor in tensors.items() if name.startswith("param.")}


def repeated(weight, batch):
    return np.concatenate([weight] * batch)


def rates_per_head(lr, heads):
    """[B, T, heads * 3], per head (lr0, lr1, lr2) -> three of [B * heads, T, 1]."""
    lr = split_heads(lr, heads)
    return [lr[..., i:i + 1] for i in range(3)]


def low_rank_or_full(p, name):
    if name in p:
        return p[name]
    left, right = p[name + ".w_left"], p[name + ".w_right"]
    return left @ right + 0.5 * np.eye(left.shape[1], right.shape[2])


def layer_llm(tensors, options, schedule, unperturbed):
    x, p = tensors["x"], parameters(tensors)
    batch, tokens, _ = x.shape
    attention_heads, heads, theta = options["num_attn_heads"], options["num_lact_heads"], options["rope_theta"]
    q, k, v = np.split(linear(x, p, "qkv"), 3, -1)
    if options["attn_qk_norm"]:
        q, k = rms_norm(q, p["q_norm.weight"], 1e-5), rms_norm(k, p["k_norm.weight"], 1e-5)

    local = head_attention(rope_halves(q, attention_heads, theta), rope_halves(k, attention_heads, theta), v,
                           attention_heads, sliding_mask(tokens, options["window_size"]))

    # The memory's q and k are rotated in the heads of the attention.
    fast = [split_heads(silu(y * p["qk_scale"][:, i] + p["qk_offset"][:, i]), heads) for i, y in enumerate((q, k))]
    fast = [merge_heads(l2_normalised(y), batch) for y in fast]
    fast_q, fast_k = [split_heads(rope_halves(y, attention_heads, theta), heads) for y in fast]
    fast_v = split_heads(silu(v), heads)
    rates = rates_per_head(softplus(linear(x, p, "lr_proj") + inverse_softplus(0.001)), heads)
    beta = split_heads(sigmoid(linear(x, p, "momentum_proj.0")), heads) if options.get("use_momentum") else None
    weights = [repeated(low_rank_or_full(p, name), batch) for name in ("w0", "w1", "w2")]
    memory, _ = ttt(weights, fast_q, fast_k, fast_v, rates, beta, shifted_schedule(tokens, options["lact_chunk_size"]),
                    options["newton_schulz"], options.get("ttt_prenorm", False))
    memory = rms_norm(memory, p["ttt_norm.weight"], 1e-5)
    if options["learnable_ttt_scale"]:
        memory = memory * split_heads(silu(linear(x, p, "ttt_scale_proj")), heads)
    return {"output": linear(local + merge_heads(memory, batch), p, "o_proj")}


def layer_minimal_causal(tensors, options, schedule, unperturbed):
    x, p = tensors["x"], parameters(tensors)
    batch, tokens, dim = x.shape
    heads = dim // options["head_dim"]
    q, k, v = np.split(linear(x, p, "to_qkv"), 3, -1)
    local_q, local_k = [y * p["qk_scale"][:, i] + p["qk_offset"][:, i] for i, y in enumerate((q, k))]
    local = head_attention(local_q, local_k, v, dim // options["attn_head_dim"],
                           sliding_mask(tokens, options["window_size"]))
    fast_q, fast_k, fast_v = [split_heads(silu(y), heads) for y in (q, k, v)]
    rates = rates_per_head(softplus(linear(x, p, "lr_proj") + inverse_softplus(options["base_lr"])), heads)
    beta = split_heads(sigmoid(linear(x, p, "momentum_proj.0")), heads) if options["use_momentum"] else None
    weights = [repeated(p[name], batch) for name in ("w0", "w1", "w2")]
    memory, _ = ttt(weights, l2_normalised(fast_q), l2_normalised(fast_k), fast_v, rates, beta,
                    shifted_schedule(tokens, options["chunk_size"]), options["newton_schulz"])
    memory = rms_norm(memory, p["o_norm.weight"], 1e-5) * split_heads(silu(linear(x, p, "ttt_scale_proj")), heads)
    return {"output": linear(local + merge_heads(memory, batch), p, "o_proj")}


def layer_nvs(tensors, options, schedule, unperturbed):
    """Weights [heads, in, out]; the last operation applies the memory to all tokens."""
    x, p = tensors["x"], parameters(tensors)
    batch, tokens, dim = x.shape
    heads = dim // options["head_dim"]
    q, k, v = [split_heads(y, heads) for y in np.split(silu(linear(x, p, "to_qkv")), 3, -1)]
    # lr0 of all heads, lr1 of all heads, lr2 of all heads
    lr = softplus(linear(x, p, "lr_fc") + inverse_softplus(options["base_lr"]))
    rates = [split_heads(y, heads) for y in np.split(lr, 3, -1)]
    operations = {(True, False): "update_only", (False, True): "apply_only", (True, True): "update_then_apply"}
    schedule = [[operations[update, apply], begin, end] for begin, end, update, apply in options["ttt_operators"]]
    names = ("w0", "w1", "w2")
    memory, final = ttt([repeated(transposed(p[name]), batch) for name in names], l2_normalised(q), l2_normalised(k), v,
                        rates, None, schedule, {"steps": options["muon_update_steps"], "coefficients": "fixed"},
                        target_norms=input_norms([repeated(transposed(unperturbed["param." + name]), batch)
                                                  for name in names]))
    memory = rms_norm(memory, p["o_norm.weight"], 1e-5)
    result = {"output": linear(merge_heads(memory, batch), p, "c_proj")}
    result.update({name + "_final": transposed(w) for name, w in zip(names, final)})
    return result


def layer_video(tensors, options, schedule, unperturbed):
    """x [batch * windows, tokens of a chunk, dim], windows as in video_windows."""
    p = parameters(tensors)
    frames, rows, columns = options["latent_grid"]
    tokens, dim = frames * rows * columns, options["dim"]
    repeat = options["update_every"] // tokens - 1
    windows = video_windows(options["num_chunks"], repeat)
    x = tensors["x"].reshape(-1, len(windows) * tokens, dim)
    batch = x.shape[0]
    attention_heads, heads = options["num_heads"], dim // options["fw_head_dim"]
    # All copies of a chunk have the positions of its frames.
    inside = np.stack(np.indices((frames, rows, columns)), -1).reshape(-1, 3)
    positions = np.concatenate([inside + [chunk * frames, 0, 0] for chunk, _ in windows])

    q = rms_norm(linear(x, p, "q"), p["norm_q.weight"], 1e-6)
    k = rms_norm(linear(x, p, "k"), p["norm_k.weight"], 1e-6)
    v = linear(x, p, "v")
    mask = video_mask(options["num_chunks"], repeat, tokens, options.get("kv_cache_size"))
    local = head_attention(rope_3d(q, attention_heads, positions), rope_3d(k, attention_heads, positions), v,
                           attention_heads, mask)

    fast_q, fast_k = [l2_normalised(split_heads(rope_3d(y * p["qk_scale"][:, i] + p["qk_offset"][:, i], attention_heads,
                                                        positions), heads)) for i, y in enumerate((q, k))]
    rates = rates_per_head(softplus(linear(x, p, "lr_proj") + inverse_softplus(0.001)), heads)
    beta = split_heads(sigmoid(linear(x, p, "momentum_proj.0")), heads) if options.get("use_momentum") else None
    schedule = [["update_then_apply" if clean else "apply_only", i * tokens, (i + 1) * tokens]
                for i, (_, clean) in enumerate(windows)]
    weights = [repeated(p[name], batch) for name in ("w0", "w1", "w2")]
    memory, _ = ttt(weights, fast_q, fast_k, split_heads(v, heads), rates, beta, schedule, options["newton_schulz"])
    memory = rms_norm(memory, p["output_norm.weight"], 1e-6)
    memory = merge_heads(memory, batch) * silu(linear(x, p, "ttt_scale_proj"))
    return {"output": linear(local + memory, p, "o").reshape(tensors["x"].shape)}


# ------------------------------------------------------------------------------------------------------ the other kinds


def kind_newton_schulz(tensors, options, schedule, unperturbed):
    return {"output": newton_schulz(tensors["G"], options)}


def kind_ttt(tensors, options, schedule, unperturbed):
    is_linear = options["network"] == "linear"
    names = ("W",) if is_linear else ("w0", "w1", "w2")
    turn = transposed if options["weight_layout"] == "in_out" else lambda w: w
    norms = None
    if options["initial_norm"] == "detached":
        norms = input_norms([turn(unperturbed[name]) for name in names])
    output, final = ttt([turn(tensors[name]) for name in names], tensors["q"], tensors["k"], tensors["v"],
                        [tensors[name] for name in (("lr",) if is_linear else ("lr0", "lr1", "lr2"))],
                        tensors["momentum"] if options["momentum"] else None, schedule, options["newton_schulz"],
                        options["norm_placement"] == "pre", norms)
    result = {"output": output}
    result.update({name + "_final": turn(w) for name, w in zip(names, final)})
    return result


def kind_attention(mask_of):
    def compute(tensors, options, schedule, unperturbed):
        mask = mask_of(tensors["q"].shape[1], options)
        return {"output": attention(tensors["q"], tensors["k"], tensors["v"], mask), "mask": mask}
    return compute


def kind_psnr_ssim(tensors, options, schedule, unperturbed):
    """Images [N, 3, H, W] in [0, 1]; SSIM with an 11x11 Gaussian window of deviation 1.5, where it fits."""
    a, b = tensors["image_a"], tensors["image_b"]
    mse = np.mean((a - b) ** 2, axis=(1, 2, 3))
    profile = np.exp(-np.arange(-5, 6) ** 2 / (2 * 1.5 ** 2))
    window = np.outer(profile, profile) / np.sum(profile) ** 2

    def local_mean(x):
        height, width = x.shape[2] - 10, x.shape[3] - 10
        return sum(window[i, j] * x[:, :, i:i + height, j:j + width] for i in range(11) for j in range(11))

    mean_a, mean_b = local_mean(a), local_mean(b)
    variance_a, variance_b = local_mean(a * a) - mean_a ** 2, local_mean(b * b) - mean_b ** 2
    covariance = local_mean(a * b) - mean_a * mean_b
    c1, c2 = 0.01 ** 2, 0.03 ** 2
    ssim = ((2 * mean_a * mean_b + c1) * (2 * covariance + c2)
            / ((mean_a ** 2 + mean_b ** 2 + c1) * (variance_a + variance_b + c2)))
    return {"mse": mse, "psnr": -10 * np.log10(mse), "ssim": np.mean(ssim, axis=(1, 2, 3)),
            "ssim_per_channel": np.mean(ssim, axis=(2, 3)), "ssim_map": ssim}


def kind_per_position_loss(tensors, options, schedule, unperturbed):
    """Logits [B, T, vocabulary]; the target of position t is token t + 1."""
    logits, targets = tensors["logits"][:, :-1], tensors["input_ids"][:, 1:]
    chosen = np.take_along_axis(logits, targets[..., None], -1)[..., 0]
    token_loss = np.log(np.sum(np.exp(logits), -1)) - chosen
    position_loss = np.mean(token_loss, 0)
    block = options["block"]
    whole = len(position_loss) // block * block
    mean = np.mean(token_loss).reshape(1)
    return {"per_token_loss": token_loss, "per_position_loss": position_loss,
            "per_block_loss": np.mean(position_loss[:whole].reshape(-1, block), -1),
            "mean_loss": mean, "perplexity": np.exp(mean), "loss": mean}


KINDS = {
    "newton_schulz": kind_newton_schulz,
    "ttt": kind_ttt,
    "layer.llm": layer_llm,
    "layer.minimal_causal": layer_minimal_causal,
    "layer.nvs": layer_nvs,
    "layer.video": layer_video,
    "attention.sliding": kind_attention(lambda tokens, o: sliding_mask(tokens, o["window"])),
    "attention.blocks": kind_attention(lambda tokens, o: block_mask(o["blocks"], o["tokens_per_block"])),
    "attention.video_window": kind_attention(
        lambda tokens, o: video_mask(o["num_chunks"], o["repeat"], o["chunk_tokens"], o["kv_cache_size"])),
    "attention.full_block_causal": kind_attention(
        lambda tokens, o: video_mask(o["num_chunks"], 1, o["chunk_tokens"], all_clean=True)),
    "metrics.psnr_ssim": kind_psnr_ssim,
    "metrics.per_position_loss": kind_per_position_loss,
}


# ------------------------------------------------------------------------------------------------------------ gradients


def gradient(loss, x):
    """d loss / d x by complex steps."""
    step = 1e-30
    result = np.zeros(x.shape)
    for index in np.ndindex(*x.shape):
        moved = x.astype(complex)
        moved[index] += 1j * step
        result[index] = loss(moved).imag / step
    return result


def check_gradient(name, loss, x, result, random):
    """Compares the slope along a random direction with a central difference, relative to the slope to be expected."""
    direction = random.standard_normal(x.shape)
    direction /= np.sqrt(np.sum(direction ** 2))
    step = 1e-5
    slope = (loss(x + step * direction) - loss(x - step * direction)) / (2 * step)
    error = abs(slope - np.sum(result * direction)) / np.sqrt(np.mean(result ** 2))
    assert error < 1e-6, f"{name}: the gradient differs from a central difference by {error:.1e}"


# ---------------------------------------------------------------------------------------------------------------- files

MEANINGS = {
    "G": "input matrices [batch, rows, cols]",
    "W": "initial linear fast weight",
    "w0": "initial fast weight, gate branch",
    "w1": "initial fast weight, output branch",
    "w2": "initial fast weight, up branch",
    "q": "queries",
    "k": "keys",
    "v": "values",
    "lr": "learning rate per token",
    "lr0": "learning rate per token of w0",
    "lr1": "learning rate per token of w1",
    "lr2": "learning rate per token of w2",
    "momentum": "momentum per token in (0,1); averaged over the tokens of an update",
    "x": "layer input",
    "image_a": "[N,3,H,W] in [0,1]",
    "image_b": "[N,3,H,W] in [0,1]",
    "logits": "[B,T,vocabulary]",
    "input_ids": "token ids; the target of position t is token t+1",
    "output": "result of the forward pass",
    "mask": "attention mask [T,T], 1 = query row sees key column",
    "r": "random tensor of the loss: loss = sum(output * r)",
    "loss": "scalar that is differentiated, shape [1]",
    "mse": "per image",
    "psnr": "per image, dB",
    "ssim": "per image",
    "ssim_per_channel": "[N,3]",
    "ssim_map": "[N,3,H-10,W-10]",
    "per_token_loss": "[B,T-1]",
    "per_position_loss": "[T-1], mean over the batch",
    "per_block_loss": "means of whole blocks of positions",
    "mean_loss": "mean over all tokens",
    "perplexity": "exp(mean_loss)",
}


def meaning(name):
    for prefix, text in (("grad.", "d loss / d "), ("param.", "parameter, official name ")):
        if name.startswith(prefix):
            return text + name[len(prefix):]
    if name.endswith("_final"):
        return name[:-len("_final")] + " after the last update, normalised"
    return MEANINGS[name]


def stored(x):
    """The array as it is written: float32, int64 or uint8."""
    kind = {"b": np.uint8, "i": np.int64}.get(x.dtype.kind, np.float32)
    return np.ascontiguousarray(x, dtype=kind)


def write_safetensors(path, tensors):
    """Length of the header (8 bytes, little endian), header (JSON, padded to 8 bytes), data; wide types first."""
    codes = {"float32": "F32", "int64": "I64", "uint8": "U8"}
    names = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))
    header, offset = {}, 0
    for name in names:
        x = tensors[name]
        header[name] = {"dtype": codes[str(x.dtype)], "shape": list(x.shape),
                        "data_offsets": [offset, offset + x.nbytes]}
        offset += x.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in names:
            file.write(tensors[name].astype(tensors[name].dtype.newbyteorder("<")).tobytes())


def write_json(path, description):
    """One line per field, one line per tensor."""
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in description.items() if key != "tensors"]
    rows = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in description["tensors"].items()]
    lines.append(' "tensors": {\n' + ",\n".join(rows) + "\n }")
    with open(path, "w") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def write_case(folder, case):
    """Computes and writes a case: name, kind, options, covers, inputs, gradients (names), seed, and maybe schedule and
    other tolerances."""
    random = np.random.RandomState(case["seed"] + 1000)
    inputs = {name: x if x.dtype.kind == "i" else x.astype(np.float32).astype(np.float64)
              for name, x in case["inputs"].items()}

    def compute(tensors):
        return KINDS[case["kind"]](tensors, case["options"], case.get("schedule"), inputs)

    results = compute(inputs)
    tensors = dict(inputs)
    tensors.update(results)
    if "output" in results:
        r = random.standard_normal(results["output"].shape).astype(np.float32).astype(np.float64)
        tensors["r"] = r
        tensors["loss"] = np.sum(results["output"] * r).reshape(1)

    def loss_of(name):
        def loss(x):
            results = compute({**inputs, name: x})
            return np.sum(results["output"] * r) if "output" in results else results["loss"][0]
        return loss

    for name in case["gradients"]:
        tensors["grad." + name] = gradient(loss_of(name), inputs[name])
        check_gradient(case["name"] + ": " + name, loss_of(name), inputs[name], tensors["grad." + name], random)

    output_tolerance, gradient_tolerance = case.get("output_tolerance", 2e-5), case.get("gradient_tolerance", 5e-5)
    entries = {}
    for name, x in tensors.items():
        x = tensors[name] = stored(x)
        entries[name] = {"shape": list(x.shape), "dtype": str(x.dtype), "meaning": meaning(name)}
        if name.startswith("grad."):
            entries[name]["tol"] = gradient_tolerance
        elif name in results or name == "loss":
            entries[name]["tol"] = output_tolerance
    description = {"case": case["name"], "kind": case["kind"], "options": case["options"], "covers": case["covers"],
                   "source": "tests/golden/generate.py"}
    if "schedule" in case:
        description["schedule"] = case["schedule"]
    description["tolerance"] = {"suggested_tol_outputs": output_tolerance}
    if case["gradients"]:
        description["tolerance"]["suggested_tol_gradients"] = gradient_tolerance
    description["tensors"] = entries
    base = os.path.join(folder, case["name"])
    write_safetensors(base + ".safetensors", tensors)
    write_json(base + ".json", description)
    size = os.path.getsize(base + ".safetensors") + os.path.getsize(base + ".json")
    print(f"{case['name']:44s} {size:7d} bytes")
    return size


# ---------------------------------------------------------------------------------------------------------------- cases


def newton_schulz_case(name, seed, coefficients, steps, rows, cols):
    random = np.random.RandomState(seed)
    scale = np.array([1.0, 30.0]).reshape(2, 1, 1)
    return {"name": name, "kind": "newton_schulz", "seed": seed,
            "options": {"coefficients": coefficients, "steps": steps, "dtype": "float32"},
            "covers": f"Newton-Schulz orthogonalisation, {coefficients} coefficients, {steps} steps, {rows}x{cols}, "
                      "two matrices of different scale",
            "inputs": {"G": random.standard_normal((2, rows, cols)) * scale}, "gradients": ["G"]}


def ttt_case(name, seed, covers, schedule, dims=(5, 7), network="swiglu", momentum=False, muon=None, prenorm=False,
             nvs=False, channel_rates=False, **tolerances):
    """Two heads. dims: (d, hidden) for swiglu, (in, out) for linear. muon: None, "fixed" or "variable"."""
    random = np.random.RandomState(seed)
    normal = random.standard_normal
    n, tokens = 2, max(end for _, _, end in schedule)
    d, other = dims
    d_out = d if network == "swiglu" else other

    def unit(size):
        x = normal((n, tokens, size))
        return x / norm(x, -1)

    if network == "swiglu":
        inputs = {"w0": normal((n, other, d)) / d ** 0.5, "w1": normal((n, d, other)) / other ** 0.5,
                  "w2": normal((n, other, d)) / d ** 0.5}
    else:
        inputs = {"W": normal((n, other, d)) / d ** 0.5}
    if nvs:
        inputs = {key: transposed(w) for key, w in inputs.items()}
    inputs.update(q=unit(d), k=unit(d), v=normal((n, tokens, d_out)))
    rates = {"lr": d} if network == "linear" else {"lr0": d, "lr1": other, "lr2": d}
    for key, width in rates.items():
        inputs[key] = softplus(normal((n, tokens, width if channel_rates else 1)) - 2)
    if momentum:
        inputs["momentum"] = sigmoid(normal((n, tokens, 1)))
    options = {"network": network, "momentum": momentum,
               "newton_schulz": muon and {"steps": 5, "coefficients": muon, "dtype": "float32"},
               "norm_placement": "pre" if prenorm else "post", "initial_norm": "detached" if nvs else "attached",
               "weight_layout": "in_out" if nvs else "out_in"}
    return {"name": name, "kind": "ttt", "seed": seed, "options": options, "covers": covers, "schedule": schedule,
            "inputs": inputs, "gradients": list(inputs), **tolerances}


def attention_case(name, seed, kind, options, covers, tokens):
    random = np.random.RandomState(seed)
    inputs = {key: random.standard_normal((1, tokens, 2, 3)) for key in ("q", "k", "v")}
    return {"name": name, "kind": "attention." + kind, "seed": seed, "options": options, "covers": covers,
            "inputs": inputs, "gradients": ["q", "k", "v"]}


def layer_case(name, seed, kind, options, covers, x_shape, shapes, gradients, **tolerances):
    """shapes: official parameter name -> (shape, mean, standard deviation)."""
    random = np.random.RandomState(seed)
    inputs = {"x": random.standard_normal(x_shape)}
    for key, (shape, mean, deviation) in shapes.items():
        inputs["param." + key] = mean + deviation * random.standard_normal(shape)
    return {"name": name, "kind": "layer." + kind, "seed": seed, "options": options, "covers": covers, "inputs": inputs,
            "gradients": ["x"] + ["param." + key for key in gradients], **tolerances}


def llm_case():
    c, heads, d, rank = 12, 3, 4, 2
    options = {"hidden_size": c, "num_attn_heads": 2, "num_lact_heads": heads, "inter_multi": 1, "window_size": 5,
               "lact_chunk_size": 4, "rope_theta": 10000.0, "max_position_embeddings": 16, "use_momentum": True,
               "use_muon": True, "w0_w2_low_rank": rank, "learnable_ttt_scale": True, "attn_qk_norm": True,
               "newton_schulz": {"steps": 5, "coefficients": "variable", "dtype": "float32"}}
    shapes = {"w1": ((heads, d, d), 0, 0.5), "qk_scale": ((c, 2), 1, 0.2), "qk_offset": ((c, 2), 0, 0.2),
              "qkv.weight": ((3 * c, c), 0, 0.3), "q_norm.weight": ((c,), 1, 0.2), "k_norm.weight": ((c,), 1, 0.2),
              "o_proj.weight": ((c, c), 0, 0.3), "w0.w_left": ((heads, d, rank), 0, 0.5),
              "w0.w_right": ((heads, rank, d), 0, 0.5), "w2.w_left": ((heads, d, rank), 0, 0.5),
              "w2.w_right": ((heads, rank, d), 0, 0.5), "lr_proj.weight": ((3 * heads, c), 0, 0.3),
              "lr_proj.bias": ((3 * heads,), 4, 0.5), "ttt_scale_proj.weight": ((heads, c), 0, 0.3),
              "ttt_scale_proj.bias": ((heads,), 1, 0.3), "ttt_norm.weight": ((d,), 1, 0.2),
              "momentum_proj.0.weight": ((heads, c), 0, 0.3), "momentum_proj.0.bias": ((heads,), 0, 0.3)}
    return layer_case("layer_llm_momentum_muon_lowrank_qknorm", 607, "llm", options,
                      "language model layer: window attention with rotary embeddings and shifted memory, momentum and "
                      "Muon, low-rank initial weights, norm of q and k",
                      (1, 11, c), shapes, ["w0.w_left", "qk_scale", "k_norm.weight", "momentum_proj.0.weight"],
                      gradient_tolerance=2e-4)


def minimal_causal_case():
    c, heads, d, hidden = 12, 3, 4, 8
    options = {"dim": c, "head_dim": d, "attn_head_dim": 6, "chunk_size": 5, "window_size": 4, "base_lr": 0.01,
               "use_momentum": True, "use_muon": False, "inter_multi": 2, "newton_schulz": None}
    shapes = {"w0": ((heads, hidden, d), 0, 0.5), "w1": ((heads, d, hidden), 0, 0.35),
              "w2": ((heads, hidden, d), 0, 0.5),
              "qk_scale": ((c, 2), 1, 0.2), "qk_offset": ((c, 2), 0, 0.2), "to_qkv.weight": ((3 * c, c), 0, 0.3),
              "o_proj.weight": ((c, c), 0, 0.3), "lr_proj.weight": ((3 * heads, c), 0, 0.5),
              "momentum_proj.0.weight": ((heads, c), 0, 0.3), "momentum_proj.0.bias": ((heads,), 0, 0.3),
              "o_norm.weight": ((d,), 1, 0.2), "ttt_scale_proj.weight": ((heads, c), 0, 0.3),
              "ttt_scale_proj.bias": ((heads,), 1, 0.3)}
    return layer_case("layer_minimal_causal_momentum", 402, "minimal_causal", options,
                      "causal layer of window attention (scaled and shifted q, k) and shifted memory, momentum, ragged",
                      (1, 13, c), shapes, ["w1", "qk_offset", "lr_proj.weight", "o_norm.weight"])


def nvs_case():
    c, heads, d, hidden = 10, 2, 5, 10
    options = {"dim": c, "head_dim": d, "inter_multi": 2, "base_lr": 0.01, "muon_update_steps": 3,
               "ttt_operators": [[0, 8, True, False], [8, 12, True, False], [0, 14, False, True]], "state_given": False}
    shapes = {"w0": ((heads, d, hidden), 0, 0.45), "w1": ((heads, hidden, d), 0, 0.3),
              "w2": ((heads, d, hidden), 0, 0.45), "to_qkv.weight": ((3 * c, c), 0, 0.4),
              "c_proj.weight": ((c, c), 0, 0.3),
              "lr_fc.weight": ((3 * heads, c), 0, 0.5), "lr_fc.bias": ((3 * heads,), 0, 0.5),
              "o_norm.weight": ((d,), 1, 0.2)}
    return layer_case("layer_nvs_muon3", 621, "nvs", options,
                      "view synthesis layer: two updates on ranges of their own, then apply on all tokens; Muon with 3 "
                      "steps; initial norms are constants for the gradient",
                      (1, 14, c), shapes, ["w0", "w1", "lr_fc.weight", "o_norm.weight"], gradient_tolerance=2e-4)


def video_case():
    c, heads, d, hidden = 16, 4, 4, 8
    options = {"dim": c, "num_heads": 2, "qk_norm": True, "o_norm": True, "fw_head_dim": d, "inter_multi": 2,
               "lr_dim": 1, "local_window_size": 8, "qk_l2_norm": True, "qkv_silu": False, "use_moun": False,
               "num_moun_iters": 5,
               "weight_norm": True, "ttt_scale": 1.0, "learnable_ttt_scale": True, "batch_size": 1, "n_latent_f": 6,
               "ar_window_f": 2, "update_every": 16, "use_momentum": True, "kv_cache_size": 5, "latent_grid": [2, 2, 2],
               "num_chunks": 3, "newton_schulz": None}
    shapes = {"w0": ((heads, hidden, d), 0, 0.5), "w1": ((heads, d, hidden), 0, 0.35),
              "w2": ((heads, hidden, d), 0, 0.5),
              "qk_scale": ((c, 2), 1, 0.2), "qk_offset": ((c, 2), 0, 0.2)}
    for key in ("q", "k", "v", "o"):
        shapes.update({key + ".weight": ((c, c), 0, 0.25), key + ".bias": ((c,), 0, 0.2)})
    shapes.update({"norm_q.weight": ((c,), 1, 0.2), "norm_k.weight": ((c,), 1, 0.2),
                   "lr_proj.weight": ((3 * heads, c), 0, 0.25), "lr_proj.bias": ((3 * heads,), 4, 0.5),
                   "momentum_proj.0.weight": ((heads, c), 0, 0.25), "momentum_proj.0.bias": ((heads,), 0, 0.3),
                   "output_norm.weight": ((d,), 1, 0.2), "ttt_scale_proj.weight": ((1, c), 0, 0.25),
                   "ttt_scale_proj.bias": ((1,), 1, 0.3)})
    return layer_case("layer_video_momentum", 404, "video", options,
                      "video layer on noisy, clean, noisy, clean, noisy chunks: memory updated by clean chunks with "
                      "momentum, window attention with 5 of 8 clean tokens, three-dimensional rotary embeddings",
                      (5, 8, c), shapes, ["w2", "norm_q.weight", "lr_proj.bias", "ttt_scale_proj.weight"])


def psnr_ssim_case():
    random = np.random.RandomState(501)
    a = random.uniform(0, 1, (2, 3, 14, 13))
    b = np.stack([np.clip(a[0] + 0.1 * random.standard_normal(a[0].shape), 0, 1), 0.2 + 0.6 * a[1]])
    return {"name": "metrics_psnr_ssim", "kind": "metrics.psnr_ssim", "seed": 501, "options": {},
            "covers": "PSNR and SSIM of a noisy and a rescaled image", "inputs": {"image_a": a, "image_b": b},
            "gradients": [], "output_tolerance": 1e-4}


def per_position_loss_case():
    random = np.random.RandomState(502)
    return {"name": "metrics_per_position_loss", "kind": "metrics.per_position_loss", "seed": 502,
            "options": {"block": 3},
            "covers": "next-token cross entropy per token, per position and per block (an incomplete block is "
                      "dropped), perplexity",
            "inputs": {"logits": 2 * random.standard_normal((2, 12, 7)), "input_ids": random.randint(0, 7, (2, 12))},
            "gradients": ["logits"]}


def all_cases():
    """Newton-Schulz amplifies small singular values, so the seeds of the Muon cases are ones for which the gradients of
    a float32 computation are accurate to about 1e-5; their tolerance is 10 to 20 times that."""
    video = {"chunk_tokens": 4, "repeat": 2, "num_chunks": 3, "kv_cache_size": 3}
    return [
        newton_schulz_case("newton_schulz_fixed5_wide", 101, "fixed", 5, 4, 7),
        newton_schulz_case("newton_schulz_variable5_tall", 102, "variable", 5, 9, 5),
        newton_schulz_case("newton_schulz_fixed2_square", 103, "fixed", 2, 6, 6),
        ttt_case("ttt_shifted_ragged_gd", 201, "apply, then update per chunk; ragged last chunk",
                 shifted_schedule(13, 5)),
        ttt_case("ttt_shifted_ragged_momentum_muon", 382,
                 "apply, then update per chunk, momentum and Muon; ragged last chunk",
                 shifted_schedule(17, 7), momentum=True, muon="variable", gradient_tolerance=2e-4),
        ttt_case("ttt_shifted_prenorm_momentum", 203,
                 "apply, then update per chunk, momentum; accumulated weights with a normalised copy in use",
                 shifted_schedule(15, 5), momentum=True, prenorm=True),
        ttt_case("ttt_blockcausal_muon_nvs", 264,
                 "update, then apply per chunk, Muon, weights [in, out]; initial norms are constants for the gradient",
                 block_schedule(16, 9), muon="fixed", nvs=True, gradient_tolerance=2e-4),
        ttt_case("ttt_strided_momentum", 205, "updates on some ranges, then apply on all tokens, momentum",
                 [["update_only", 0, 5], ["update_only", 7, 11], ["apply_only", 0, 13]], momentum=True),
        ttt_case("ttt_full_gd", 206, "one update with all tokens, then apply", block_schedule(11, 11)),
        ttt_case("ttt_linear_shifted_momentum_muon", 267,
                 "linear fast weight from 5 to 3, apply, then update per chunk, momentum and Muon",
                 shifted_schedule(16, 6), dims=(5, 3), network="linear", momentum=True, muon="variable",
                 gradient_tolerance=1e-4),
        ttt_case("ttt_shifted_channel_rates", 208,
                 "apply, then update per chunk; a rate for every input channel of a weight",
                 shifted_schedule(11, 4), dims=(4, 6), channel_rates=True),
        attention_case("attention_sliding_w4", 301, "sliding", {"window": 4},
                       "a query sees itself and 3 tokens before", 13),
        attention_case("attention_blocks", 302, "blocks", {"blocks": 3, "tokens_per_block": 5},
                       "attention inside blocks", 15),
        attention_case("attention_video_window_repeat2_kv3", 303, "video_window", video,
                       "noisy chunks see themselves and 3 of 4 tokens of the clean chunk before; two noisy copies", 32),
        attention_case("attention_full_block_causal", 304, "full_block_causal", {"chunk_tokens": 3, "num_chunks": 3},
                       "noisy chunks see themselves and all clean chunks before, clean chunks see clean chunks up to "
                       "them", 15),
        llm_case(), minimal_causal_case(), nvs_case(), video_case(),
        psnr_ssim_case(), per_position_loss_case(),
    ]


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    print(f"{sum(write_case(folder, case) for case in all_cases())} bytes")


if __name__ == "__main__":
    main()
