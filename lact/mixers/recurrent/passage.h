// A recurrence over the stretches of a layout: which tokens change the state, which are taken back and which
// only read it. GLA, DeltaNet and Mamba-2 differ in what one token does; how a layout is walked is here.
#pragma once

#include <functional>
#include <vector>

#include "lact/mixers/layout.h"
#include "lact/ops/recurrences/recurrence.h"

namespace lact::recurrent {

/// What a recurrence gets of its tokens: q, k [B, H, T, K], where one head may serve all; v [B, H, T, V];
/// gate [B, H, T] or [B, H, T, K], float32 or wider: how much is forgotten, or written.
struct Tokens {
  at::Tensor q, k, v, gate;
};

struct Recurrence {
  /// All tokens in their order, from `state` S [B, H, K, V] on.
  std::function<ops::RecurrenceResult(const Tokens& tokens, const at::Tensor& state)> run;
  /// A state that is only read gives scale · Sᵀ q.
  double scale = 1;
  /// Without additions a state only decays, by e^gate in each row; else it is turned as well.
  bool decays = true;
};

enum class Direction { left_to_right, right_to_left };

/// The layout's stretches, counted from its first token; neighbours become one where that changes nothing.
/// Throws a sentence unless they are all tokens of the layout, in order.
std::vector<Stretch> joined_stretches(const SequenceLayout& layout);

/// The tokens of a range, counted from the first, in the order of the direction.
Tokens part_of(const Tokens& tokens, Range range, Direction direction);
/// scale · Sᵀ q of each token.
at::Tensor read_state(const at::Tensor& q, const at::Tensor& state, double scale);

/// Passes over the tokens of `layout` and advances `state`; returns [B, H, T, V]. From right to left, the
/// tokens of each stretch come in reverse; the stretches themselves keep their order, since those that only
/// read come behind what they read.
at::Tensor pass_over(const Recurrence& recurrence, const Tokens& tokens, const SequenceLayout& layout,
                     Direction direction, at::Tensor& state);

}  // namespace lact::recurrent
