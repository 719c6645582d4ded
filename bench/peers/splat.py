"""Gaussian splatting in plain PyTorch: splats are sorted by depth, handed to the tiles that they touch, and tiles with lists
of about the same length are composed together, [tiles, pixels, list], with the transmittance from a running product or a sum
of logarithms. What is far from a tile's pixels costs as much as what is near, so that the best tile depends on the machine.

Backward, tiles are finished one batch after the other, so that only one batch's intermediate results are in memory; the
gradients of what was projected go on to the Gaussians at the end.
"""
import math

import torch

from common import dtype_of

CAP, THRESHOLD, STOP, RADIUS = 0.99, 1 / 255, 1e-4, 3.33
BATCH = 1 << 19  # elements of a batch: of 2^17 to 2^24 the fastest on Zen 4, 100,000 Gaussians at 400 x 400


def harmonics(d, c):
    x, y, z = d.unbind(1)
    xx, yy, zz = x * x, y * y, z * z
    basis = torch.stack([
        torch.full_like(x, 0.28209479177387814), -0.4886025119029199 * y, 0.4886025119029199 * z, -0.4886025119029199 * x,
        1.0925484305920792 * x * y, -1.0925484305920792 * y * z, 0.31539156525252005 * (2 * zz - xx - yy),
        -1.0925484305920792 * x * z, 0.5462742152960396 * (xx - yy), -0.5900435899266435 * y * (3 * xx - yy),
        2.890611442640554 * x * y * z, -0.4570457994644658 * y * (4 * zz - xx - yy),
        0.3731763325901154 * z * (2 * zz - 3 * xx - 3 * yy), -0.4570457994644658 * x * (4 * zz - xx - yy),
        1.445305721320277 * z * (xx - yy), -0.5900435899266435 * x * (xx - 3 * yy)], 1)
    return torch.bmm(basis.unsqueeze(1), c).squeeze(1)


def rotations(q):
    w, x, y, z = (q / q.norm(dim=1, keepdim=True)).unbind(1)
    return torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
                        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], 1).unflatten(1, (3, 3))


def project(means, quaternions, log_scales, logits, coefficients, side):
    """A camera at (0, 0, -4) that looks along z. [N, 11] of the seen, nearest first: mean, conic, opacity, features
    (colour, depth, 1); and their extents in pixels."""
    places = means + means.new_tensor([0.0, 0.0, 4.0])
    seen = (places[:, 2] > 0.01).nonzero().squeeze(1)
    means, places, quaternions, log_scales, logits, coefficients = (
        t.index_select(0, seen) for t in (means, places, quaternions, log_scales, logits, coefficients))
    z = places[:, 2]
    x, y = places[:, 0] / z, places[:, 1] / z
    u, v = side * x + side / 2, side * y + side / 2
    limit = 0.5 + 0.15
    spread = rotations(quaternions) * log_scales.exp().unsqueeze(1)
    j = side / z
    row0 = j.unsqueeze(1) * (spread[:, 0] - x.clamp(-limit, limit).unsqueeze(1) * spread[:, 2])
    row1 = j.unsqueeze(1) * (spread[:, 1] - y.clamp(-limit, limit).unsqueeze(1) * spread[:, 2])
    a, b, c = (row0 * row0).sum(1) + 0.3, (row0 * row1).sum(1), (row1 * row1).sum(1) + 0.3
    det = a * c - b * b
    opacity = logits.sigmoid()
    direction = places / places.norm(dim=1, keepdim=True)
    colour = (harmonics(direction, coefficients) + 0.5).clamp_min(0)
    splats = torch.cat([torch.stack([u, v, c / det, -b / det, a / det, opacity], 1), colour, z.unsqueeze(1),
                        torch.ones_like(z).unsqueeze(1)], 1)
    with torch.no_grad():
        e = (2 * (opacity * 255).clamp_min(1).log()).sqrt().clamp_max(RADIUS)
        extent = torch.stack([e * a.sqrt(), e * c.sqrt()], 1)
        centre = torch.stack([u, v], 1)
        keep = ((centre + extent > 0) & (centre - extent < side)).all(1) & (opacity >= THRESHOLD)
        kept = keep.nonzero().squeeze(1)
        order = kept[torch.sort(z[kept], stable=True)[1]]
    return splats.index_select(0, order), extent[order]


def tile_lists(splats, extent, side, tile):
    """Splats of every tile, nearest first, as one list; where each tile's begins; its length."""
    across = (side + tile - 1) // tile
    low = ((splats[:, :2] - extent - 0.5).ceil().clamp(0, side - 1) / tile).long()
    high = ((splats[:, :2] + extent - 0.5).floor().clamp(0, side - 1) / tile).long()
    size = high - low + 1
    count = size[:, 0] * size[:, 1]
    owner = torch.repeat_interleave(torch.arange(len(count)), count)
    within = torch.arange(len(owner)) - torch.repeat_interleave(count.cumsum(0) - count, count)
    width = size[owner, 0]
    tiles = (low[owner, 1] + torch.div(within, width, rounding_mode="floor")) * across + low[owner, 0] + within % width
    order = torch.sort(tiles, stable=True)[1]
    lengths = torch.bincount(tiles, minlength=across * across)
    return owner[order], lengths.cumsum(0) - lengths, lengths


def batches(starts, lengths, pixels):
    """Tiles by the length of their lists, as many at a time as BATCH allows."""
    order = torch.sort(lengths, descending=True)[1].tolist()
    longest = lengths.tolist()
    begin = 0
    while begin < len(order) and longest[order[begin]] > 0:
        length = longest[order[begin]]
        end = min(len(order), begin + max(1, BATCH // (length * pixels)))
        chosen = torch.tensor(order[begin:end])
        yield chosen, starts[chosen], lengths[chosen], length
        begin = end


def compose(splats, lists, chosen, starts, lengths, length, across, tile, logs):
    """[tiles, pixels, 5]: colour, depth, alpha."""
    steps = torch.arange(length)
    there = steps < lengths.unsqueeze(1)
    rows = lists[(starts.unsqueeze(1) + steps).clamp_max(len(lists) - 1)]
    mine = splats.index_select(0, rows.flatten()).view(*rows.shape, 11)
    corner = torch.stack([chosen % across, torch.div(chosen, across, rounding_mode="floor")], 1) * tile
    u, v = (mine[..., :2] - corner.unsqueeze(1)).unbind(2)
    a, b, c, opacity = mine[..., 2:6].unbind(2)
    # sigma as a polynomial of the pixel's place within the tile: one product of matrices for all pixels
    polynomial = torch.stack([0.5 * (a * u * u + c * v * v) + b * u * v, -(a * u + b * v), -(c * v + b * u), 0.5 * a, b,
                              0.5 * c], 1)
    at = torch.arange(tile) + 0.5
    x, y = at.repeat(tile), at.repeat_interleave(tile)
    basis = torch.stack([torch.ones_like(x), x, y, x * x, x * y, y * y], 1)
    sigma = torch.matmul(basis, polynomial)  # [tiles, pixels, list]
    alpha = ((-sigma.clamp_min(0)).exp() * (opacity * there).unsqueeze(1)).clamp_max(CAP)
    alpha = alpha * (alpha >= THRESHOLD)
    if logs:
        left = torch.log1p(-alpha).cumsum(2).exp()
    else:
        left = (1 - alpha).cumprod(2)
    before = torch.cat([torch.ones_like(left[..., :1]), left[..., :-1]], 2)
    weight = alpha * before * (left > STOP)
    return torch.bmm(weight, mine[..., 6:])


class Splat:
    """Draws the numbers that lact/bench/splat_problem.cpp draws."""

    def __init__(self, gaussians, side, backward, form, precision, compile=False):
        if compile:
            raise ValueError("the lists have other lengths in every batch")
        dtype_of(precision)
        torch.manual_seed(17)
        draws = [torch.randn(gaussians, 3), torch.randn(gaussians, 4), torch.randn(gaussians, 3) * 0.5 + math.log(0.02),
                 torch.randn(gaussians) - 1.5, torch.randn(gaussians, 16, 3) * 0.2]
        self.leaves = [x.requires_grad_(backward) for x in draws]
        self.side, self.backward = side, backward
        tile, way = form.split()
        self.tile, self.logs = int(tile), way == "logs"
        self.across = (side + self.tile - 1) // self.tile
        cotangent = torch.randn(5, side, side)[[0, 1, 2, 4, 3]]  # depth before alpha, as features are
        whole = torch.zeros(5, self.across * self.tile, self.across * self.tile)
        whole[:, :side, :side] = cotangent
        self.cotangent = whole.unflatten(2, (self.across, self.tile)).unflatten(1, (self.across, self.tile)).permute(
            1, 3, 2, 4, 0).reshape(self.across ** 2, self.tile ** 2, 5)

    def prepare(self):
        for x in self.leaves:
            x.grad = None

    def run(self):
        self.prepare()
        with torch.set_grad_enabled(self.backward):
            projected, extent = project(*self.leaves, self.side)
        splats = projected.detach().requires_grad_(self.backward)
        lists, starts, lengths = tile_lists(splats.detach(), extent, self.side, self.tile)
        out = torch.zeros(self.across ** 2, self.tile ** 2, 5)
        for chosen, first, some, length in batches(starts, lengths, self.tile ** 2):
            with torch.set_grad_enabled(self.backward):
                part = compose(splats, lists, chosen, first, some, length, self.across, self.tile, self.logs)
            out[chosen] = part.detach()
            if self.backward:
                part.backward(self.cotangent[chosen])
        if self.backward:
            projected.backward(splats.grad)
        picture = out.view(self.across, self.across, self.tile, self.tile, 5).permute(4, 0, 2, 1, 3)
        return picture.reshape(5, self.across * self.tile, self.across * self.tile)[:, :self.side, :self.side]

    def tensors(self):
        picture = self.run()
        return [picture[:3], picture[4], picture[3]] + [x.grad for x in self.leaves if x.grad is not None]
