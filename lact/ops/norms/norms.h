// Normalisations. Statistics are taken in at least float32; the result has the input's dtype.
#pragma once

#include <ATen/core/Tensor.h>

namespace lact::ops {

/// x / (|x|_2 + epsilon) along the last dimension; [..., D].
at::Tensor l2_normalize(const at::Tensor& x, double epsilon);

/// x / sqrt(mean(x²) + epsilon) * weight along the last dimension; an undefined weight means ones.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

/// (x - mean) / sqrt(var + epsilon) * weight + bias along the last dimension; weight and bias may be
/// undefined.
at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double epsilon);

/// x * scale + shift per channel; x [..., D], scale and shift [D].
at::Tensor scale_shift(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift);

/// |w|_2 of every row along the input dimension: [..., out, in] -> [..., out, 1].
at::Tensor row_norms(const at::Tensor& weight);

/// Gives every row of w the norm `target`: w / (|w|_2 + epsilon) * target; [..., out, in], [..., out, 1].
at::Tensor set_row_norms(const at::Tensor& weight, const at::Tensor& target, double epsilon);

namespace reference {
at::Tensor l2_normalize(const at::Tensor& x, double epsilon);
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);
at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double epsilon);
at::Tensor scale_shift(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift);
}  // namespace reference

}  // namespace lact::ops
