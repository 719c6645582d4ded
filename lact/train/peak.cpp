#include "lact/train/peak.h"

#include "lact/ops/dispatch/limits.h"

namespace lact::train {

double measured_peak() { return ops::register_peak(ops::Instruction::f32).value_or(0); }

}  // namespace lact::train
