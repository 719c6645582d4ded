// Loops that do nothing but one kind of work, to learn what a core can do at most: multiply-adds of numbers
// that stay in registers, and streams through memory.
#pragma once

#include <cstdint>

#include "lact/kernels/isa.h"

namespace lact::kernels {

/// `rounds` of multiply-adds; returns how many operations that was, a multiply-add being two. `sink` [64]
/// gives the first values and takes the last, so that no compiler can leave the work out.
using RegisterLoop = int64_t (*)(int64_t rounds, float* sink);

struct LimitsKernels {
  RegisterLoop f32;
  RegisterLoop bf16;  ///< pairs of bfloat16; null where the instruction set has no such instruction
  RegisterLoop int8;  ///< groups of four int8; null likewise
  /// Operations per cycle that no core of this instruction set exceeds.
  int64_t most_f32, most_bf16, most_int8;

  /// Reads `count` floats and returns their sum; `count` is a multiple of 256.
  float (*read)(const float* from, int64_t count);
  /// Copies `count` floats; a multiple of 256.
  void (*copy)(float* to, const float* from, int64_t count);
};

LACT_TILE_KERNEL_TABLE(LimitsKernels, limits)

}  // namespace lact::kernels
