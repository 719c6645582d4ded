// Gaussian noise that a seed decides, whatever was drawn before: work that is cut in two gives the same
// numbers as one piece.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lact::ops {

/// Independent numbers of mean 0 and variance 1, float32.
at::Tensor gaussian_noise(at::IntArrayRef sizes, uint64_t seed);

}  // namespace lact::ops
