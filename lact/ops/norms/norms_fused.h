// The normalisations in one pass over memory each way. The backward pass keeps the input and one or two
// numbers per row.
#pragma once

#include <ATen/core/Tensor.h>

#include "lact/kernels/row_norm.h"

namespace lact::ops::fused {

/// weight and bias may be undefined.
bool fits_row_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

/// x [..., D], weight and bias [D] or undefined; what each kind computes stands in kernels/row_norm.h.
at::Tensor row_norm(kernels::RowNorm kind, const at::Tensor& x, const at::Tensor& weight,
                    const at::Tensor& bias, double epsilon);

}  // namespace lact::ops::fused
