// Reading the fast weights with a few tokens: one token of a text being written.
#pragma once

#include "lact/ttt/fast_weight.h"

namespace lact::ttt {

bool is_few_token_swiglu(const SwigluMatrices& weights, const at::Tensor& x);

/// swiglu_apply with float32 matrices that are read once and never rounded; x [..., T, D] in float32 or
/// bfloat16.
at::Tensor few_token_swiglu(const SwigluMatrices& weights, const at::Tensor& x);

}  // namespace lact::ttt
