// What a recurrence does with one chunk of tokens of one head: the interface between the run through the
// chunks (recurrence_run.h) and the rules (ssd_fused.cpp, gla_fused.cpp, delta_rule_fused.cpp).
//
// A rule is a worker's object, made from the sizes, with
//   read(chunk, state, out)                  rows of the output; the state becomes that behind the chunk
//   write(chunk, state, next)                the state behind the chunk alone
//   differentiate(chunk, gradients, state, next, slope)
//                                            all gradients; the slope of `next` becomes that of `state`
#pragma once

#include "lact/kernels/recurrence.h"
#include "lact/ops/recurrences/chunk_products.h"

namespace lact::ops::fused {

struct ChunkSizes {
  int64_t width, value_width;  ///< of keys; of the block of value columns that a worker takes
  kernels::Packing packing;
  float scale;
};

/// At most kernels::kChunkRows tokens.
struct Chunk {
  kernels::NumberRows q, k, v;
  kernels::NumberRows gate;  ///< float32; rows of one number where there is one gate per token
  int64_t rows;
};

struct ChunkGradients {
  kernels::NumberRows out;  ///< that of the output, given
  kernels::OutputRows q, k, v;
  kernels::FloatRows gate;
};

inline float gate_of(const Chunk& chunk, int64_t row) {
  return static_cast<const float*>(chunk.gate.numbers)[row * chunk.gate.stride];
}

}  // namespace lact::ops::fused
