// Precision rules shared by the ops.
#pragma once

#include <ATen/core/Tensor.h>

namespace lact::ops {

/// float32 for the 16-bit types, the type itself otherwise.
inline at::ScalarType wide_type(at::ScalarType type) {
  return type == at::kBFloat16 || type == at::kHalf ? at::kFloat : type;
}

inline at::Tensor at_least_float(const at::Tensor& x) { return x.to(wide_type(x.scalar_type())); }

}  // namespace lact::ops
