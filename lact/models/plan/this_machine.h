// The machine that runs this, measured in a few seconds: its peaks, and the shares of them that the parts of
// a small training step reach.
#pragma once

#include "lact/models/plan/machine.h"

namespace lact::models::plan {

/// One of `ranks` ranks that share this machine's cores and memory. Only the compute type that is asked for
/// has measured shares.
Machine this_machine(bool bf16, int64_t ranks);

}  // namespace lact::models::plan
