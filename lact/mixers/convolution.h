// A short causal convolution of every channel along the sequence, which goes on from piece to piece.
#pragma once

#include <ATen/core/Tensor.h>

namespace lact {

/// y_t = Σ_j w_j x_{t - width + 1 + j}; x [B, T, channels], weights [width, channels], the last row for the
/// token itself. `tail` [B, width - 1 or more, channels]: the tokens before x, and then those before the next
/// piece and up to `more` before these.
at::Tensor causal_convolution(const at::Tensor& x, const at::Tensor& weights, at::Tensor& tail,
                              int64_t more = 0);

/// The last inputs of a convolution that a state keeps: the width - 1 that the next token sees, and some
/// more, so that the last tokens can be forgotten again.
struct ConvolutionTail {
  at::Tensor rows;   ///< [B, seen or more, channels]; undefined without convolution
  int64_t seen = 0;  ///< by the next token

  /// More would be as large as the keys and values of a chunk.
  static constexpr int64_t kMore = 16;

  int64_t forgettable() const { return rows.size(1) - seen; }
  void forget_last(int64_t tokens);
};

}  // namespace lact
