#include "lact/ops/tokens/rows.h"

#include <ATen/ATen.h>

#include <optional>
#include <vector>

#include "lact/base/error.h"

namespace lact::ops {

namespace {

/// Dimensions that follow each other in memory become one loop; more than three are too many.
std::optional<kernels::Rows> collapse(const at::Tensor& x) {
  if (x.dim() == 0 || (x.stride(-1) != 1 && x.size(-1) != 1)) return std::nullopt;
  struct Loop {
    int64_t count, stride;
  };
  std::vector<Loop> loops;
  for (int64_t dim = 0; dim < x.dim() - 1; ++dim) {
    const Loop loop = {x.size(dim), x.stride(dim)};
    if (loop.count == 1) continue;
    if (!loops.empty() && loops.back().stride == loop.count * loop.stride) {
      loops.back() = {loops.back().count * loop.count, loop.stride};
    } else {
      loops.push_back(loop);
    }
  }
  if (loops.size() > 3) return std::nullopt;
  while (loops.size() < 3) loops.insert(loops.begin(), {1, 0});
  return kernels::Rows{loops[1].count, loops[2].count, loops[0].stride, loops[1].stride, loops[2].stride};
}

}  // namespace

bool fits_rows(const at::Tensor& x) {
  return x.is_cpu() && x.layout() == at::kStrided && x.dim() > 0 && x.numel() > 0 &&
         (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

at::Tensor with_rows(const at::Tensor& x) { return collapse(x) ? x : x.contiguous(); }

at::Tensor empty_rows_like(const at::Tensor& x) {
  const at::Tensor like = at::empty_like(x);
  return collapse(like) ? like : at::empty(x.sizes(), x.options());
}

kernels::Rows rows_of(const at::Tensor& x) {
  const auto rows = collapse(x);
  LACT_ASSERT(rows.has_value());
  return *rows;
}

}  // namespace lact::ops
