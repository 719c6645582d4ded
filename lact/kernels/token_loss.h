// Cross entropy of rows of logits: log Σ exp(logits) - logit of the target.
#pragma once

#include <cstdint>

#include "lact/kernels/isa.h"

namespace lact::kernels {

struct TokenLossTask {
  bool bf16;  ///< the logits; float32 otherwise
  int64_t vocabulary;
  void* logits;            ///< [rows, vocabulary]
  const int64_t* targets;  ///< [rows]
  float* statistics;       ///< [rows][2]: the largest logit m, and Σ exp(logit - m)
};

struct TokenLossKernels {
  /// Fills statistics and losses [rows] of rows [begin, end), reading each logit once.
  void (*forward)(const TokenLossTask& task, float* losses, int64_t begin, int64_t end);
  /// Logits become their gradients: (softmax - one at the target) · upstream [rows].
  void (*backward)(const TokenLossTask& task, const float* upstream, int64_t begin, int64_t end);
};

LACT_KERNEL_TABLE(TokenLossKernels, token_loss)

}  // namespace lact::kernels
