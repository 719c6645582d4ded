#include <ATen/ATen.h>

#include "lact/ops/dispatch/dtypes.h"
#include "lact/ops/rope/rope.h"

namespace lact::ops::reference {

// (a, b) -> (a cos - b sin, a sin + b cos)
at::Tensor rope(const at::Tensor& x, const RopeTable& table, RopePairs pairs) {
  const at::ScalarType type = wide_type(x.scalar_type());
  const at::Tensor cos = table.cos.to(type).unsqueeze(1);
  const at::Tensor sin = table.sin.to(type).unsqueeze(1);
  const int64_t half = x.size(-1) / 2;

  // [B, T, H, 2, D/2] for halves, [B, T, H, D/2, 2] for neighbours: the pair is one dimension of size 2.
  const bool halves = pairs == RopePairs::halves;
  const int64_t dim = halves ? -2 : -1;
  const at::Tensor paired = at_least_float(x).unflatten(-1, halves ? std::vector<int64_t>{2, half}  //
                                                                   : std::vector<int64_t>{half, 2});
  const at::Tensor a = paired.select(dim, 0);
  const at::Tensor b = paired.select(dim, 1);
  return at::stack({a * cos - b * sin, a * sin + b * cos}, dim).flatten(-2).to(x.scalar_type());
}

}  // namespace lact::ops::reference
