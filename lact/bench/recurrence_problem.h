// Random inputs of a linear recurrence, the same that bench/peers/recurrences.py draws.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace lact::bench {

struct RecurrenceShape {
  std::string rule;  ///< "gla", "delta_rule" or "ssd"
  int64_t heads, tokens, width;
  std::string name() const;
};

struct RecurrenceProblem {
  RecurrenceProblem(const RecurrenceShape& shape, at::ScalarType type);

  /// The output; with `backward` also the gradients of q, k, v and the gate.
  std::vector<at::Tensor> run(bool backward) const;
  /// The same numbers in float32.
  RecurrenceProblem widened() const;

  RecurrenceShape shape;
  at::Tensor q, k, v, gate, state, cotangent;
};

/// What has to be multiplied, two operations each: nothing twice, and of chunks of 64 tokens only what is not
/// later than a token, 32 D in the mean. Per token and head, with width D:
///   gla, ssd     2 D² + 2 · 32 D forward, 4 D² + 5 · 32 D backward
///   delta rule   3 D² + 4 · 32 D forward, 6 D² + 13 · 32 D backward
double recurrence_work(const RecurrenceShape& shape, bool backward);

}  // namespace lact::bench
