// Choosing the next token from its logits.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>

#include "lact/base/random.h"

namespace lact::models {

struct SamplingOptions {
  double temperature = 0.8;
  int64_t top_k = 0;
  double top_p = 0.95;
  double repetition_penalty = 1;
  int64_t penalty_window = 256;
  int64_t seed = 1;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("temperature", temperature, "0 takes the likeliest token; 1 follows the model's probabilities");
    field("top_k", top_k, "only the k likeliest tokens; 0 is all");
    field("top_p", top_p, "only the likeliest tokens that make up this share of the probability");
    field("repetition_penalty", repetition_penalty, "above 1: tokens of the last stretch become less likely");
    field("penalty_window", penalty_window, "length of that stretch in tokens");
    field("seed", seed, "the same seed gives the same text");
  }
  bool operator==(const SamplingOptions&) const = default;

  void check() const;
};

class Sampler {
 public:
  explicit Sampler(const SamplingOptions& options);

  /// A token that was read or written, for the repetition penalty.
  void note(int64_t token);

  /// logits [vocabulary]
  int64_t draw(const at::Tensor& logits);

 private:
  SamplingOptions options_;
  Random random_;
  std::deque<int64_t> recent_;
};

}  // namespace lact::models
