#include "lact/ops/rope/rope.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include "lact/base/error.h"
#include "lact/ops/dispatch/paths.h"

namespace lact::ops {

std::vector<int64_t> rope_shares(int64_t head_dim, int64_t axes) {
  LACT_CHECK(head_dim > 0 && head_dim % 2 == 0, "[rope] the head width is {}, expected an even number",
             head_dim);
  LACT_CHECK(axes > 0, "[rope] positions have {} coordinates, expected at least 1", axes);
  const int64_t pairs = head_dim / 2;
  std::vector<int64_t> shares(axes, pairs / axes);
  shares[0] = pairs - (axes - 1) * (pairs / axes);
  return shares;
}

RopeTable rope_table(const at::Tensor& positions, int64_t head_dim, const RopeOptions& options) {
  LACT_CHECK(positions.dim() == 2, "[rope] positions have shape {}, expected [T, axes]",
             positions.sizes().vec());
  LACT_CHECK(options.base > 0, "[rope] base is {}, expected a positive number", options.base);
  // A table may be kept for later callers, with gradients or without.
  at::NoGradGuard no_grad;
  c10::InferenceMode ordinary(false);
  const auto shares = rope_shares(head_dim, positions.size(1));
  const auto precise = positions.options().dtype(at::kDouble);
  std::vector<at::Tensor> angles;
  for (size_t axis = 0; axis < shares.size(); ++axis) {
    const at::Tensor frequency =
        at::pow(options.base, -at::arange(shares[axis], precise) / double(shares[axis]));
    angles.push_back(at::outer(positions.select(1, int64_t(axis)).to(at::kDouble), frequency));
  }
  const at::Tensor all = at::cat(angles, 1);
  const at::Tensor cos = all.cos(), sin = all.sin();
  return {cos, sin, at::stack({cos, sin}).to(at::kFloat)};
}

at::Tensor rope(const at::Tensor& x, const RopeTable& table, RopePairs pairs) {
  LACT_CHECK(x.dim() == 4, "[rope] x has shape {}, expected [B, T, H, D]", x.sizes().vec());
  LACT_CHECK(table.cos.size(0) == x.size(1) && table.cos.size(1) * 2 == x.size(3),
             "[rope] x has {} tokens of width {} but the table is for {} tokens of width {}", x.size(1),
             x.size(3), table.cos.size(0), table.cos.size(1) * 2);
  if (fused_paths() && fused::fits_rope(x, table)) return fused::rope(x, table, pairs);
  return reference::rope(x, table, pairs);
}

}  // namespace lact::ops
