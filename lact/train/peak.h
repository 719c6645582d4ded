// What this machine can do: the yardstick for "share of peak".
#pragma once

namespace lact::train {

/// Operations per second of float32 multiply-adds on all threads, from registers: what no float32 computation
/// can exceed. bfloat16 in tile registers can. Takes a tenth of a second.
double measured_peak();

}  // namespace lact::train
