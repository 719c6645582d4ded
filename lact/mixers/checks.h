// Checks that every mixer makes of its arguments.
#pragma once

#include "lact/base/error.h"
#include "lact/mixers/layout.h"

namespace lact {

inline void check_tokens(const at::Tensor& x, const SequenceLayout& layout) {
  LACT_CHECK(x.dim() == 3, "[mixer] the input has shape {}, expected [B, T, M]", x.sizes().vec());
  LACT_CHECK(x.size(1) == layout.tokens, "[mixer] the input has {} tokens but the layout is for {}",
             x.size(1), layout.tokens);
}

}  // namespace lact
