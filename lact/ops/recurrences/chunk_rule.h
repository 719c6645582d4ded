// What a recurrence does with one chunk of tokens of one head: the interface between the run through the
// chunks (recurrence_run.h) and the rules (ssd_fused.cpp, gla_fused.cpp, delta_rule_fused.cpp).
//
// A rule is a worker's object, made from the sizes, with
//   kKeepsRows                               whether read() fills the chunk's kept rows
//   read(chunk, state, out)                  rows of the output; the state becomes that behind the chunk
//   write(chunk, state, next)                the state behind the chunk alone
//   differentiate(chunk, gradients, state, slope)
//                                            all gradients; the slope of the state behind the chunk becomes
//                                            that of `state`
#pragma once

#include <algorithm>

#include "lact/kernels/recurrence.h"
#include "lact/ops/recurrences/chunk_products.h"

namespace lact::ops::fused {

struct ChunkSizes {
  int64_t rows;                ///< of a chunk, at most kernels::kMostChunkRows
  int64_t width, value_width;  ///< of keys; of the block of value columns that a worker takes
  kernels::Packing packing;
  float scale;
};

/// At most as many tokens as ChunkSizes says.
struct Chunk {
  kernels::NumberRows q, k, v;
  kernels::NumberRows gate;  ///< float32; rows of one number where there is one gate per token
  int64_t rows;
  /// As wide as v: what read() leaves for differentiate(), if the rule has kKeepsRows. Without numbers where
  /// no backward pass follows.
  kernels::OutputRows kept = {};
};

struct ChunkGradients {
  kernels::NumberRows out;  ///< that of the output, given
  kernels::OutputRows q, k, v;
  kernels::FloatRows gate;
};

/// What every rule works with, for a chunk of the sizes.
class ChunkSpace {
 protected:
  ChunkSpace(Bench& bench, const ChunkSizes& sizes)
      : sizes_(sizes),
        weights_(bench.matrix(sizes.rows, sizes.rows)),
        slopes_(bench.matrix(sizes.rows, sizes.rows)),
        values_(bench.matrix(sizes.rows, sizes.value_width)),
        dq_(bench.matrix(sizes.rows, sizes.width)),
        dk_(bench.matrix(sizes.rows, sizes.width)),
        token_left_(bench, sizes.rows, widest()),
        state_left_(bench, sizes.width, sizes.rows),
        right_(bench, widest(), widest()) {}

  const kernels::RecurrenceKernels& kernel_ = kernels::recurrence_kernels();
  ChunkSizes sizes_;
  kernels::FloatRows weights_, slopes_;  ///< between tokens: A and its gradient
  kernels::FloatRows values_;            ///< of tokens
  kernels::FloatRows dq_, dk_;
  LeftOperand token_left_, state_left_;  ///< a row per token; per channel of the keys
  RightOperand right_;

 private:
  int64_t widest() const { return std::max({sizes_.width, sizes_.value_width, sizes_.rows}); }
};

inline float gate_of(const Chunk& chunk, int64_t row) {
  return static_cast<const float*>(chunk.gate.numbers)[row * chunk.gate.stride];
}

}  // namespace lact::ops::fused
