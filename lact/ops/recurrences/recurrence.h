// What the linear recurrences share: a matrix per head, S [K, V], that changes with every token and is read
// by the token's query. Each has an exact recurrence (the reference), which is also how a text is written
// token by token, and a form that treats a chunk of tokens at once.
#pragma once

#include <ATen/core/Tensor.h>

namespace lact::ops {

struct RecurrenceResult {
  at::Tensor out;    ///< [B, H, T, V], in the dtype of v
  at::Tensor state;  ///< [B, H, K, V] after the last token, float32 or wider
};

}  // namespace lact::ops
