#include "lact/ops/attention/windows.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"

namespace lact::ops {

Window sliding_window(Range queries, int64_t width, int64_t first_key) {
  LACT_CHECK(width > 0, "[window] the window is {} tokens wide, expected at least 1", width);
  LACT_CHECK(!queries.empty(), "[window] the sequence has {} tokens, expected at least 1", queries.size());
  const Range keys = {std::max(first_key, queries.begin - width + 1), queries.end};
  return {{{queries, {{keys, width}}}}};
}

Window block_window(int64_t tokens, int64_t block) {
  LACT_CHECK(block > 0, "[window] a block is {} tokens long, expected at least 1", block);
  LACT_CHECK(tokens % block == 0, "[window] {} tokens do not divide into blocks of {}", tokens, block);
  Window window;
  for (int64_t begin = 0; begin < tokens; begin += block) {
    const Range range = {begin, begin + block};
    window.blocks.push_back({range, {{range}}});
  }
  return window;
}

at::Tensor window_mask(const Window& window, int64_t tokens) {
  check_window(window, {0, tokens}, {0, tokens});
  at::Tensor mask = at::zeros({tokens, tokens}, at::kBool);
  for (const auto& block : window.blocks) {
    for (int64_t query = block.queries.begin; query < block.queries.end; ++query) {
      for (const auto& visible : block.keys) {
        const Range seen = visible.seen_by({query, query + 1});
        if (!seen.empty()) mask[query].slice(0, seen.begin, seen.end).fill_(true);
      }
    }
  }
  return mask;
}

}  // namespace lact::ops
