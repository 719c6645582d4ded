// Places of tokens along one axis.
#pragma once

#include <ATen/ATen.h>

namespace lact::testing {

/// begin, begin + 1, ..., end - 1 as RoPE takes them, [tokens, 1].
inline at::Tensor line(int64_t begin, int64_t end) { return at::arange(begin, end, at::kLong).unsqueeze(1); }

}  // namespace lact::testing
