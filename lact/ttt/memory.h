// What a fast-weight layer remembers of the sequence so far: constant in size, explicit, owned by the caller.
// Carried across calls, it makes a sequence in pieces give the same numbers as the sequence at once.
#pragma once

#include "lact/ttt/network.h"

namespace lact::ttt {

struct Memory {
  Matrices weights;        ///< read by `apply` and differentiated by `update`; [B, H, out, in]
  Matrices initial_norms;  ///< row norms that updates restore; [B, H, out, 1]
  Matrices momentum;       ///< zero before the first update; empty without momentum
  Matrices accumulated;    ///< un-normalised weights, only with pre-norm
};

}  // namespace lact::ttt
