// Descriptions of who attends to whom, for window_attention.
#pragma once

#include <ATen/core/Tensor.h>

#include "lact/ops/attention/window_attention.h"

namespace lact::ops {

/// Causal sliding window: query i sees keys i - width + 1 .. i, none before `first_key`.
Window sliding_window(Range queries, int64_t width, int64_t first_key = 0);

/// Everything inside consecutive blocks of equal length, such as images; nothing between blocks.
Window block_window(int64_t tokens, int64_t block);

/// The attention mask, bool [T, T]: row i is true at j if query i sees key j.
at::Tensor window_mask(const Window& window, int64_t tokens);

}  // namespace lact::ops
