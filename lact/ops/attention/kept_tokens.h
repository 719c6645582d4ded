// Keys and values that a stream keeps for its later tokens, in as few bytes as wanted, and attention that
// reads them where they lie.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <string_view>
#include <utility>

#include "lact/ops/attention/window_attention.h"

namespace lact::ops {

/// automatic: the type that a model computes in. int8: a byte per number and a float32 scale for every row of
/// a head.
enum class CacheFormat { automatic, f32, bf16, int8 };
constexpr std::array<std::pair<CacheFormat, std::string_view>, 4> enum_names(CacheFormat) {
  return {{{CacheFormat::automatic, "auto"},
           {CacheFormat::f32, "f32"},
           {CacheFormat::bf16, "bf16"},
           {CacheFormat::int8, "int8"}}};
}

/// Keys or values, [B, T, H, D] along dimension 1.
struct KeptTokens {
  at::Tensor numbers;  ///< [B, T, H, D]
  at::Tensor scales;   ///< [B, T, H] of int8: value = scale · number; undefined otherwise

  int64_t count() const { return numbers.size(1); }
};

/// In this format; `automatic` is the type of x. Without gradients for int8.
KeptTokens keep(const at::Tensor& x, CacheFormat format);

at::Tensor widened(const KeptTokens& kept, at::ScalarType type);

/// window_attention in the type of q over kept tokens of any format. Blocks of a few queries read them where
/// they lie, once for all heads; otherwise they are widened.
at::Tensor kept_attention(const at::Tensor& q, const KeptTokens& k, const KeptTokens& v, const Window& window,
                          int64_t first_query = 0, int64_t first_key = 0);

namespace reference {
at::Tensor kept_attention(const at::Tensor& q, const KeptTokens& k, const KeptTokens& v, const Window& window,
                          int64_t first_query, int64_t first_key);
}

}  // namespace lact::ops
