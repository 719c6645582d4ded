// The weights A_ij = s · sum_a q_ia k_ja e^{G_ia - G_ja} of a chunk of GLA, and their gradients, for decays
// of any strength: by secondary chunks in log space. Between a block of 16 queries and the keys before it
// stands the block's first token; both differences of G from it are at most 0, and the rest is a product of
// matrices. Blocks on the diagonal go pair by pair.
#pragma once

#include <algorithm>

#include "lact/ops/recurrences/chunk_rule.h"

namespace lact::ops::fused {

/// A chunk's queries, keys and sums G of log decays, [rows, width].
struct DecayedTokens {
  kernels::FloatRows q, k, sums;
};

class StrongDecay {
 public:
  StrongDecay(Bench& bench, const ChunkSizes& sizes)
      : width_(sizes.width),
        scale_(sizes.scale),
        later_(bench.matrix(kBlock, sizes.width)),
        earlier_(bench.matrix(sizes.rows, sizes.width)),
        products_(bench.matrix(sizes.rows, sizes.width)),
        left_(bench, sizes.rows, std::max(sizes.width, sizes.rows)),
        right_(bench, std::max(sizes.width, sizes.rows), std::max(sizes.width, sizes.rows)) {}

  /// A [rows, rows] with zeros above the diagonal.
  void weigh(const DecayedTokens& in, int64_t rows, kernels::FloatRows weights) {
    for (int64_t first = 0; first < rows; first += kBlock) {
      const int64_t count = std::min(kBlock, rows - first);
      for (int64_t i = first; i < first + count; ++i) {
        std::fill(weights.numbers + i * weights.stride, weights.numbers + i * weights.stride + rows, 0.f);
      }
      if (first > 0) {
        decay(in, first, count);
        left_.pack(later_.read(), count, width_);
        // A panel of 32 columns may reach beyond the keys before the block; what stands there comes next.
        right_.pack_transposed(earlier_.read(), width_, first)
            .multiply(left_, {weights.numbers + first * weights.stride, weights.stride}, scale_);
      }
      kernel_.pair_products(from(in.q, first), from(in.k, first), from(in.sums, first), count, width_, scale_,
                            {weights.numbers + first * (weights.stride + 1), weights.stride});
    }
  }

  /// Adds to dq and dk what dA [rows, rows] gives them; above the diagonal it is 0.
  void differentiate(const DecayedTokens& in, int64_t rows, kernels::FloatRows slopes, kernels::FloatRows dq,
                     kernels::FloatRows dk) {
    for (int64_t first = 0; first < rows; first += kBlock) {
      const int64_t count = std::min(kBlock, rows - first);
      kernel_.add_pair_gradients(from(in.q, first), from(in.k, first), from(in.sums, first), count, width_,
                                 {slopes.numbers + first * (slopes.stride + 1), slopes.stride},
                                 from(dq, first), from(dk, first));
      if (first == 0) continue;
      decay(in, first, count);
      const kernels::NumberRows block = from(slopes, first).read();
      left_.pack(block, count, first);
      right_.pack(earlier_.read(), first, width_).multiply(left_, products_);
      kernel_.add_decayed_rows(products_, from(in.sums, first), between(in, first), 1, count, width_,
                               from(dq, first));
      left_.pack_transposed(block, first, count);
      right_.pack(later_.read(), count, width_).multiply(left_, products_);
      kernel_.add_decayed_rows(products_, in.sums, between(in, first), -1, first, width_, dk);
    }
  }

 private:
  static constexpr int64_t kBlock = 16;

  static kernels::FloatRows from(kernels::FloatRows x, int64_t row) {
    return {x.numbers + row * x.stride, x.stride};
  }
  static const float* between(const DecayedTokens& in, int64_t first) { return from(in.sums, first).numbers; }
  /// The block's queries and the keys before it, as seen from the block's first token.
  void decay(const DecayedTokens& in, int64_t first, int64_t count) {
    kernel_.decay_rows(from(in.q, first), from(in.sums, first), between(in, first), 1, count, width_, later_);
    kernel_.decay_rows(in.k, in.sums, between(in, first), -1, first, width_, earlier_);
  }

  const kernels::RecurrenceKernels& kernel_ = kernels::recurrence_kernels();
  int64_t width_;
  float scale_;
  kernels::FloatRows later_, earlier_, products_;
  LeftOperand left_;
  RightOperand right_;
};

}  // namespace lact::ops::fused
