// A short causal convolution of every channel along the sequence, which goes on from piece to piece.
#pragma once

#include <ATen/core/Tensor.h>

namespace lact {

/// y_t = Σ_j w_j x_{t - width + 1 + j}; x [B, T, channels], weights [width, channels], the last row for the
/// token itself. `tail` [B, width - 1, channels]: the tokens before x, and then those before the next piece.
at::Tensor causal_convolution(const at::Tensor& x, const at::Tensor& weights, at::Tensor& tail);

}  // namespace lact
