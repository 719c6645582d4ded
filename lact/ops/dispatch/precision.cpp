#include "lact/ops/dispatch/precision.h"

#include <mutex>

#include "lact/base/log.h"
#include "lact/kernels/isa.h"
#include "lact/ops/dispatch/device.h"
#include "lact/ops/dispatch/paths.h"

namespace lact::ops {

Precision resolved(Precision precision) {
  if (precision != Precision::automatic) return precision;
  if (!compute_device().is_cpu()) return compute_device().is_cuda() ? Precision::bf16 : Precision::f32;
  return fused_paths() && kernels::multiplies_pairs() ? Precision::bf16 : Precision::f32;
}

Precision announced(Precision precision) {
  if (precision != Precision::automatic) return precision;
  static std::once_flag once;
  const Precision chosen = resolved(precision);
  std::call_once(once, [&] {
    if (!compute_device().is_cpu()) {
      log::info("precision {} on {}; --precision {} for the other",
                chosen == Precision::bf16 ? "bf16" : "f32", compute_device().str(),
                chosen == Precision::bf16 ? "f32" : "bf16");
    } else if (chosen == Precision::bf16) {
      log::info("precision bf16: this processor multiplies it faster; --precision f32 for the other");
    } else {
      log::info("precision f32: this processor multiplies bf16 no faster; --precision bf16 for the other");
    }
  });
  return chosen;
}

at::ScalarType compute_type(Precision precision) {
  return resolved(precision) == Precision::bf16 ? at::kBFloat16 : at::kFloat;
}

}  // namespace lact::ops
