// The type that matrix products are computed in.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <string_view>
#include <utility>

namespace lact::ops {

enum class Precision { f32, bf16 };
constexpr std::array<std::pair<Precision, std::string_view>, 2> enum_names(Precision) {
  return {{{Precision::f32, "f32"}, {Precision::bf16, "bf16"}}};
}
inline at::ScalarType compute_type(Precision precision) {
  return precision == Precision::bf16 ? at::kBFloat16 : at::kFloat;
}

}  // namespace lact::ops
