#include <ATen/ATen.h>

#include <limits>

#include "lact/ops/dispatch/dtypes.h"
#include "lact/ops/newton_schulz/newton_schulz.h"

namespace lact::ops::reference {

namespace {

/// |x|_F of every matrix, [..., 1, 1]. Entries are divided by the largest one first, so that squares of huge
/// or tiny numbers neither overflow nor vanish; the divisor is a constant for the gradient.
at::Tensor matrix_norm(const at::Tensor& x) {
  const at::Tensor largest =
      at::amax(x.detach().abs(), {-2, -1}, /*keepdim=*/true).clamp_min(std::numeric_limits<float>::min());
  return (x / largest).square().sum({-2, -1}, /*keepdim=*/true).clamp_min(1e-30).sqrt() * largest;
}

}  // namespace

// X₀ = G / (|G|_F + ε);  X ← a X + (b A + c A²) X  with  A = X Xᵀ. A tall matrix is transposed first: A is
// then small.
//
// The bfloat16 iteration rounds after every operation and adds in float32, which is what the published
// functions do on their device; LibTorch's own bfloat16 arithmetic differs between versions (it may round the
// coefficients as well).
at::Tensor newton_schulz(const at::Tensor& gradient, const NewtonSchulzOptions& options) {
  const bool bfloat16 = options.iteration_type == IterationType::bfloat16;
  const auto round = [&](const at::Tensor& x) {
    return bfloat16 ? x.to(at::kBFloat16).to(x.scalar_type()) : x;
  };

  const bool tall = gradient.size(-2) > gradient.size(-1);
  at::Tensor x = round(at_least_float(tall ? gradient.transpose(-2, -1) : gradient));
  x = round(x / round(round(matrix_norm(x)) + options.epsilon));
  for (int64_t step = 0; step < options.steps; ++step) {
    const auto [a, b, c] = newton_schulz_coefficients(options.coefficients, step);
    const at::Tensor gram = round(at::matmul(x, x.transpose(-2, -1)));
    const at::Tensor polynomial = round(round(b * gram) + round(at::matmul(round(c * gram), gram)));
    x = round(round(a * x) + round(at::matmul(polynomial, x)));
  }
  return (tall ? x.transpose(-2, -1) : x).to(gradient.scalar_type());
}

}  // namespace lact::ops::reference
