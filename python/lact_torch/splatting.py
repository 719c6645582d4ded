"""Pictures of Gaussians."""
from typing import NamedTuple, Optional, Sequence

import torch
from torch import Tensor

from ._library import ops


class Picture(NamedTuple):
    image: Tensor  # [3, H, W], or [C, 3, H, W] of C cameras
    alpha: Tensor  # [H, W]
    depth: Tensor  # [H, W]: sum of z alpha T; divided by alpha it is the expected depth
    radii: Tensor  # [N, 2], int64: extent of each splat in pixels; 0 where it is not seen


def rasterize(means: Tensor, quaternions: Tensor, log_scales: Tensor, opacity_logits: Tensor, harmonics: Tensor,
              intrinsics: Tensor, camera_to_world: Tensor, height: int, width: int, *, degree: int = 3,
              background: Sequence[float] = (0., 0., 0.), blur: float = 0.3, near: float = 0.01, far: float = 1e10,
              screen_offsets: Optional[Tensor] = None) -> Picture:
    """Gaussian splatting with the conventions of gsplat 1.6. Gaussians are as optimizers keep them, before activation: means
    [N, 3], quaternions [N, 4] (w, x, y, z), log_scales [N, 3], opacity_logits [N], harmonics [N, K, 3]. Cameras: intrinsics
    [4] (fx, fy, cx, cy) and camera_to_world [4, 4], or [C, 4] and [C, 4, 4]. Gradients go to the Gaussians and to
    screen_offsets [N, 2]; cameras have none."""
    if intrinsics.requires_grad or camera_to_world.requires_grad:
        raise ValueError("rasterize gives no gradient to cameras; detach them")
    numbers = [float(x) for x in background]

    def one(camera, pose):
        return Picture(*ops.splat(means, quaternions, log_scales, opacity_logits, harmonics, screen_offsets, camera, pose,
                                  height, width, degree, numbers, blur, near, far))

    if intrinsics.dim() == 1:
        return one(intrinsics, camera_to_world)
    return Picture(*(torch.stack(x) for x in zip(*(one(a, b) for a, b in zip(intrinsics, camera_to_world)))))
