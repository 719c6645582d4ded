// The tensors of a scan with batch and heads in one dimension, float32, as the passes take them.
#pragma once

#include <ATen/ATen.h>

#include "lact/ttt/passes/update.h"

namespace lact::ttt::fused {

/// [B, H, ...] -> [heads, ...]
inline at::Tensor flat(const at::Tensor& x) {
  return x.reshape({-1, x.size(2), x.size(3)}).to(at::kFloat).contiguous();
}
inline PerMatrix flat(const Matrices& matrices) {
  PerMatrix result;
  for (const auto& matrix : matrices) result.push_back(flat(matrix));
  return result;
}

/// One number per row or token: [B, H, n, 1] -> [heads, n].
inline PerMatrix flat_rows(const Matrices& rows) {
  PerMatrix result;
  for (const auto& row : rows) result.push_back(flat(row).squeeze(2));
  return result;
}

inline FlatMemory flat(const Memory& memory) {
  return {flat(memory.weights),  flat_rows(memory.initial_norms),
          flat(memory.momentum), flat(memory.accumulated),
          flat(memory.anchor),   flat(memory.importance)};
}

}  // namespace lact::ttt::fused
