// The type that matrix products are computed in.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <string_view>
#include <utility>

namespace lact::ops {

/// automatic: bf16 where this processor multiplies it faster than float32, and on CUDA; f32 otherwise.
enum class Precision { automatic, f32, bf16 };
constexpr std::array<std::pair<Precision, std::string_view>, 3> enum_names(Precision) {
  return {{{Precision::automatic, "auto"}, {Precision::f32, "f32"}, {Precision::bf16, "bf16"}}};
}

/// f32 or bf16.
Precision resolved(Precision precision);

/// The same. Where it was `automatic`, one line on stderr says what was chosen and how to have the other;
/// once.
Precision announced(Precision precision);

at::ScalarType compute_type(Precision precision);

}  // namespace lact::ops
