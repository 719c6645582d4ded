// A recurrence over a sequence whose tokens are shared out. A piece of tokens takes a state S to A S + B: all
// ranks find A and B of their pieces at once, tell each other, and then each runs its pieces from the states
// that they begin with.
#pragma once

#include "lact/mixers/recurrent/passage.h"

namespace lact::recurrent {

/// What `pass_over` does, for a layout with a sharding. Tokens are this rank's; the state afterwards is that
/// of its heads.
at::Tensor sharded_pass_over(const Recurrence& recurrence, const Tokens& tokens, const SequenceLayout& layout,
                             Direction direction, at::Tensor& state);

}  // namespace lact::recurrent
