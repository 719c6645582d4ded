#include "lact/ops/linear/few_tokens.h"

#include <ATen/ATen.h>

#include "lact/ops/dispatch/paths.h"

namespace lact::ops {

namespace {

template <class Number>
void widen(const Number* from, int64_t tokens, int64_t in, int64_t width, float* rows) {
  for (int64_t token = 0; token < tokens; ++token, from += in, rows += width) {
    for (int64_t i = 0; i < in; ++i) rows[i] = float(from[i]);
    std::fill(rows + in, rows + width, 0.f);
  }
}

}  // namespace

bool are_few_tokens(const at::Tensor& x) {
  return !at::GradMode::is_enabled() && fused_paths() && x.is_cpu() && x.dim() > 0 && x.numel() > 0 &&
         x.numel() <= kFewTokens * x.size(-1) &&
         (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

void read_tokens(const at::Tensor& x, int64_t width, float* rows) {
  const auto dense = x.expect_contiguous();
  const int64_t in = x.size(-1), tokens = x.numel() / in;
  if (x.scalar_type() == at::kFloat) {
    widen(dense->data_ptr<float>(), tokens, in, width, rows);
  } else {
    widen(dense->data_ptr<at::BFloat16>(), tokens, in, width, rows);
  }
}

std::vector<float> read_tokens(const at::Tensor& x, int64_t width) {
  std::vector<float> rows(size_t(x.numel() / x.size(-1) * width));
  read_tokens(x, width, rows.data());
  return rows;
}

at::Tensor write_tokens(const float* rows, at::IntArrayRef sizes, const at::Tensor& like) {
  at::Tensor y = at::empty(sizes, like.options());
  if (y.scalar_type() == at::kFloat) {
    std::copy(rows, rows + y.numel(), y.data_ptr<float>());
  } else {
    std::copy(rows, rows + y.numel(), y.data_ptr<at::BFloat16>());
  }
  return y;
}

}  // namespace lact::ops
