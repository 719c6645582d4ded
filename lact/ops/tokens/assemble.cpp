#include "lact/ops/tokens/assemble.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"

namespace lact::ops {

at::Tensor assemble(std::vector<std::pair<Range, at::Tensor>> pieces, Range whole, int64_t dim,
                    const at::Tensor& like) {
  std::sort(pieces.begin(), pieces.end(),
            [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
  std::vector<at::Tensor> parts;
  const auto add_zeros = [&](int64_t tokens) {
    auto sizes = like.sizes().vec();
    sizes[dim] = tokens;
    if (tokens > 0) parts.push_back(at::zeros(sizes, like.options()));
  };
  int64_t position = whole.begin;
  for (const auto& [range, piece] : pieces) {
    LACT_ASSERT(range.begin >= position && range.end <= whole.end);
    add_zeros(range.begin - position);
    parts.push_back(piece);
    position = range.end;
  }
  add_zeros(whole.end - position);
  return parts.size() == 1 ? parts.front() : parts.empty() ? at::zeros_like(like) : at::cat(parts, dim);
}

}  // namespace lact::ops
