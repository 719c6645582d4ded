#include "lact/train/peak.h"

#include "lact/ops/limits.h"

namespace lact::train {

double measured_peak(at::ScalarType type) {
  const auto f32 = [] { return ops::register_peak(ops::Instruction::f32).value_or(0); };
  if (type != at::kBFloat16) return f32();
  const auto bf16 = ops::register_peak(ops::Instruction::bf16);
  return bf16 ? *bf16 : f32();
}

}  // namespace lact::train
