// Key-value recall. While a sequence goes by, one token in two tells a pair, a key and its value, at a
// random place; every token asks for the value of a pair told earlier. All keys of a sequence differ, and
// values are drawn anew for each sequence, so that nothing can be known by heart: a pair is remembered from
// where it was told, or not at all.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace recall {

struct Task {
  int64_t tokens = 256;
  int64_t every = 2;  ///< one pair in so many tokens
  int64_t keys = 128;
  int64_t values = 16;

  int64_t pairs() const { return tokens / every; }
  double chance() const { return 1.0 / double(values); }
};

/// All [B, T], int64. A token that tells nothing has key `keys` and value `values`.
struct Batch {
  at::Tensor key, value;  ///< the pair that a token tells
  at::Tensor asked;       ///< the key that it asks for
  at::Tensor answer;      ///< the value of that key
  at::Tensor distance;    ///< tokens since that pair was told; 0 at the first token, which asks for its own
};

Batch draw_batch(const Task& task, int64_t size);

}  // namespace recall
