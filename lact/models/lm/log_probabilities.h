// How likely a token was, and which were likelier.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace lact::models {

struct LogProbabilities {
  float chosen = 0;
  std::vector<std::pair<int64_t, float>> likeliest;  ///< tokens, the likeliest first
};

/// log softmax of logits [vocabulary] at the token `chosen` and at the `count` likeliest, or all there are.
LogProbabilities log_probabilities(const at::Tensor& logits, int64_t chosen, int64_t count);

}  // namespace lact::models
