// What this machine can do: the yardstick for "share of peak".
#pragma once

#include <ATen/core/Tensor.h>

namespace lact::train {

/// Operations per second of multiply-adds of this type on all threads, from registers: what no computation
/// can exceed. bfloat16 counts as float32 where the processor has no instruction for it. Takes a tenth of a
/// second.
double measured_peak(at::ScalarType type);

}  // namespace lact::train
