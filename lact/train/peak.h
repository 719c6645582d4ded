// What this machine can do: the yardstick for "share of peak".
#pragma once

#include <ATen/core/Tensor.h>

namespace lact::train {

/// Operations per second of a large matrix product of this type, the best of a few; takes a fraction of a
/// second.
double measured_peak(at::ScalarType type);

}  // namespace lact::train
