// What this machine can do at most, measured: the yardstick for "share of peak".
#pragma once

#include <cstdint>
#include <optional>

namespace lact::ops {

struct MachineLimits {
  int64_t threads = 0;
  double f32 = 0;              ///< operations per second of float32 multiply-adds, two each
  std::optional<double> bf16;  ///< of bfloat16 pairs; absent where the processor has no such instruction
  std::optional<double> int8;  ///< of int8 groups; absent likewise
  double read = 0, copy = 0;   ///< bytes per second from memory; a copied byte counts twice

  /// What products of bfloat16 tensors can reach: with an instruction of their own, or widened where there is
  /// none or a slower one.
  bool pairs_pay() const { return bf16.value_or(0) > f32; }
  double peak() const { return pairs_pay() ? *bf16 : f32; }
};

enum class Instruction { f32, bf16, int8 };

/// Operations per second of all threads together, on numbers that stay in registers; the best of short
/// bursts, in which the threads run at the same time. Takes a tenth of a second. Absent without the
/// instruction.
std::optional<double> register_peak(Instruction instruction);

/// Bytes per second of all threads together, on buffers much larger than the last cache or of `bytes`; the
/// tenth percentile of the bursts, as the best of them are lucky. Takes about a second.
double read_bandwidth(int64_t bytes = 0);
double copy_bandwidth(int64_t bytes = 0);

/// All of them. `brief` uses smaller buffers, so that bandwidths may be those of a cache.
MachineLimits machine_limits(bool brief = false);

}  // namespace lact::ops
