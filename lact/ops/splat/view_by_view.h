// Several pictures of the same Gaussians with the memory of one.
#pragma once

#include <vector>

#include "lact/ops/splat/splat.h"

namespace lact::ops {

/// Pictures [T, 3, H, W] from T cameras of one size. Nothing of a picture is kept but itself: the backward
/// pass draws each again, back-propagates, and lets it go before the next one. Gradients go to the Gaussians;
/// screen offsets have no place here.
at::Tensor splat_view_by_view(const Gaussians& gaussians, const std::vector<SplatCamera>& cameras,
                              const SplatOptions& options = {});

}  // namespace lact::ops
