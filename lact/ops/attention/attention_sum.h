// Attention of some queries to keys that come a piece at a time: the softmax is over all of them, but only
// one piece is in memory. Without gradients.
#pragma once

#include <ATen/core/Tensor.h>

namespace lact::ops {

/// What the queries found in the keys so far; undefined before the first piece.
struct AttentionSum {
  at::Tensor out;       ///< [B, Tq, H, D of v]: attention to the keys so far, float32 or wider
  at::Tensor log_sums;  ///< [B, H, Tq]: logarithm of the sum of their weights exp(q · k / sqrt(D))
};

/// Adds a piece that every query sees: q [B, Tq, H, D], the same in each call, k and v [B, Tk, H, D].
void add_attention(AttentionSum& sum, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

/// Adds what the same queries found in other keys.
void join(AttentionSum& sum, const AttentionSum& other);

namespace reference {
AttentionSum attention_to_all(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);
}
namespace fused {
AttentionSum attention_to_all(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);
}

}  // namespace lact::ops
