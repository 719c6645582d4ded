#pragma once

#include "lact/ops/dispatch/precision.h"

namespace lact::train {

using ops::compute_type;
using ops::Precision;

}  // namespace lact::train
