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

/// What is multiplied, two operations each. Chunks have 64 tokens; per token and head, with width D:
///   gla, ssd     2 D² + 2 · 64 D forward, 5 D² + 5 · 64 D backward (one to make states again)
///   delta rule   3 D² + 4 · 64 D forward, 9 D² + 13 · 64 D backward
double recurrence_work(const RecurrenceShape& shape, bool backward);

}  // namespace lact::bench
