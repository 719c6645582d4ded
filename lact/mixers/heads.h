// [B, T, M] <-> heads.
#pragma once

#include <ATen/ATen.h>

#include "lact/base/error.h"

namespace lact {

/// The width of one head; throws unless the heads divide the model width.
inline int64_t head_width(int64_t model_dim, int64_t num_heads) {
  LACT_CHECK(num_heads > 0 && model_dim % num_heads == 0, "[mixer] {} heads do not divide the model width {}",
             num_heads, model_dim);
  return model_dim / num_heads;
}

/// [B, T, H·D] -> [B, T, H, D]
inline at::Tensor split_heads(const at::Tensor& x, int64_t num_heads) {
  // view: unflatten would look for names of dimensions first.
  auto sizes = x.sizes().vec();
  sizes.back() = num_heads;
  sizes.push_back(x.size(-1) / num_heads);
  return x.view(sizes);
}

/// [B, T, H·D] -> [B, H, T, D]
inline at::Tensor to_heads(const at::Tensor& x, int64_t num_heads) {
  return split_heads(x, num_heads).transpose(1, 2);
}

}  // namespace lact
