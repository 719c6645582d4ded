#include <ATen/ATen.h>

#include <cmath>

#include "lact/kernels/gemv.h"
#include "lact/ops/linear/few_tokens.h"
#include "lact/ttt/fast_weight.h"

namespace lact::ttt {

namespace {

bool is_plain(const at::Tensor& weight) {
  return weight.is_cpu() && weight.scalar_type() == at::kFloat && weight.is_contiguous();
}

float silu(float x) { return x / (1 + std::exp(-x)); }

}  // namespace

bool is_few_token_swiglu(const SwigluMatrices& weights, const at::Tensor& x) {
  return ops::are_few_tokens(x) && is_plain(weights.gate) && is_plain(weights.up) && is_plain(weights.down);
}

at::Tensor few_token_swiglu(const SwigluMatrices& weights, const at::Tensor& x) {
  const auto& kernels = kernels::gemv_kernels();
  const int64_t in = x.size(-1), tokens = x.size(-2), matrices = x.numel() / (in * tokens);
  const int64_t hidden = weights.gate.size(-2), out = weights.down.size(-2);
  const std::vector<float> rows = ops::read_tokens(x, in);
  std::vector<float> gate(size_t(matrices * tokens * hidden)), up(gate.size());
  std::vector<float> y(size_t(matrices * tokens * out));
  const float* gates = weights.gate.data_ptr<float>();
  const float* ups = weights.up.data_ptr<float>();
  const float* downs = weights.down.data_ptr<float>();

  // Calls body(matrix, first, count) for ranges of rows; a range does not cross matrices.
  const auto for_each_range = [&](int64_t per_matrix, int64_t row_bytes, const auto& body) {
    constexpr int64_t kRows = 32;
    const int64_t ranges = (per_matrix + kRows - 1) / kRows;
    ops::for_each_row_range(matrices * ranges, kRows * row_bytes, [&](int64_t begin, int64_t count) {
      for (int64_t range = begin; range < begin + count; ++range) {
        const int64_t first = range % ranges * kRows;
        body(range / ranges, first, std::min(kRows, per_matrix - first));
      }
    });
  };

  for_each_range(hidden, 8 * in, [&](int64_t matrix, int64_t first, int64_t count) {
    const int64_t from = (matrix * hidden + first) * in, to = matrix * tokens * hidden + first;
    const float* token = rows.data() + matrix * tokens * in;
    kernels.singles(gates + from, {count, in}, token, tokens, gate.data() + to, hidden);
    kernels.singles(ups + from, {count, in}, token, tokens, up.data() + to, hidden);
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t i = to + t * hidden; i < to + t * hidden + count; ++i) {
        gate[size_t(i)] = silu(gate[size_t(i)]) * up[size_t(i)];
      }
    }
  });
  for_each_range(out, 4 * hidden, [&](int64_t matrix, int64_t first, int64_t count) {
    kernels.singles(downs + (matrix * out + first) * hidden, {count, hidden},
                    gate.data() + matrix * tokens * hidden, tokens, y.data() + matrix * tokens * out + first,
                    out);
  });
  auto sizes = x.sizes().vec();
  sizes.back() = out;
  return ops::write_tokens(y.data(), sizes, x);
}

}  // namespace lact::ttt
