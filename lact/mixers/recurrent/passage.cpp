#include "lact/mixers/recurrent/passage.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/mixers/recurrent/sharded_passage.h"
#include "lact/ops/dispatch/dtypes.h"

namespace lact::recurrent {

Tokens part_of(const Tokens& tokens, Range range, Direction direction) {
  const auto part = [&](const at::Tensor& x) {
    const at::Tensor narrowed = x.narrow(2, range.begin, range.size());
    return direction == Direction::right_to_left ? narrowed.flip(2) : narrowed;
  };
  return {part(tokens.q), part(tokens.k), part(tokens.v), part(tokens.gate)};
}

at::Tensor read_state(const at::Tensor& q, const at::Tensor& state, double scale) {
  return at::matmul(ops::at_least_float(q) * scale, state).to(q.scalar_type());
}

std::vector<Stretch> joined_stretches(const SequenceLayout& layout) {
  std::vector<Stretch> joined;
  int64_t next = layout.begin;
  for (const auto& [tokens, passage] : layout.stretches) {
    LACT_CHECK(tokens.begin == next && !tokens.empty(),
               "[recurrence] the layout's stretches go on with tokens {} to {}, expected token {}",
               tokens.begin, tokens.end, next);
    next = tokens.end;
    const Range local = {tokens.begin - layout.begin, tokens.end - layout.begin};
    // A reverted stretch goes back to the state before it, whoever comes next.
    const bool joins = !joined.empty() && joined.back().passage == passage && passage != Passage::reverted;
    if (joins) {
      joined.back().tokens.end = local.end;
    } else {
      joined.push_back({local, passage});
    }
  }
  LACT_CHECK(next == layout.end(), "[recurrence] the layout's stretches end at token {} but its tokens at {}",
             next, layout.end());
  return joined;
}

at::Tensor pass_over(const Recurrence& recurrence, const Tokens& tokens, const SequenceLayout& layout,
                     Direction direction, at::Tensor& state) {
  LACT_CHECK(state.size(0) == tokens.v.size(0),
             "[recurrence] the state is of a batch of {} but the tokens are of one of {}", state.size(0),
             tokens.v.size(0));
  if (layout.sharding) return sharded_pass_over(recurrence, tokens, layout, direction, state);
  std::vector<at::Tensor> outputs;
  for (const auto& [range, passage] : joined_stretches(layout)) {
    if (passage == Passage::read_only) {
      const at::Tensor q = tokens.q.narrow(2, range.begin, range.size());
      outputs.push_back(read_state(q, state, recurrence.scale));
      continue;
    }
    const ops::RecurrenceResult result = recurrence.run(part_of(tokens, range, direction), state);
    outputs.push_back(direction == Direction::right_to_left ? result.out.flip(2) : result.out);
    if (passage == Passage::remembered) state = result.state;
  }
  return outputs.size() == 1 ? outputs[0] : at::cat(outputs, 2);
}

}  // namespace lact::recurrent
