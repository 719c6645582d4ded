#include "lact/ops/linear/compressed_linear.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/kernels/gemv.h"
#include "lact/ops/dispatch/paths.h"
#include "lact/ops/linear/few_tokens.h"
#include "lact/ops/linear/matrix_product.h"

namespace lact::ops {

namespace {

/// Calls product(first, count, y) for ranges of rows, where y points to the row `first` of the first token;
/// returns y [..., out] in the dtype of x, with the bias added.
template <class Product>
at::Tensor by_rows(const at::Tensor& x, int64_t out, int64_t row_bytes, const at::Tensor& bias,
                   const Product& product) {
  auto sizes = x.sizes().vec();
  const int64_t tokens = x.numel() / sizes.back();
  sizes.back() = out;
  const bool single = x.scalar_type() == at::kFloat;
  at::Tensor y = single ? at::empty(sizes, x.options()) : at::Tensor();
  std::vector<float> wide(single ? 0 : size_t(tokens * out));
  float* results = single ? y.data_ptr<float>() : wide.data();
  const std::vector<float> shift = bias.defined() ? read_tokens(bias, out) : std::vector<float>();
  for_each_row_range(out, row_bytes, [&](int64_t first, int64_t count) {
    product(first, count, results + first);
    if (shift.empty()) return;
    for (int64_t token = 0; token < tokens; ++token) {
      for (int64_t row = first; row < first + count; ++row) results[token * out + row] += shift[size_t(row)];
    }
  });
  return single ? y : write_tokens(results, sizes, x);
}

at::Tensor bytes_product(const at::Tensor& x, const CompressedWeight& weight, const at::Tensor& bias) {
  const auto& kernels = kernels::gemv_kernels();
  const int64_t out = weight.out(), width = weight.numbers().size(1), groups = weight.scales().size(1);
  const int64_t tokens = x.numel() / x.size(-1);
  const std::vector<float> rows = read_tokens(x, width);
  std::vector<int8_t> bytes(rows.size());
  std::vector<float> scales(size_t(tokens * groups));
  std::vector<int32_t> sums(scales.size());
  kernels.quantize(rows.data(), tokens * width, bytes.data(), scales.data(), sums.data());
  const kernels::ByteTokens from = {bytes.data(), scales.data(), sums.data()};
  const auto* numbers = weight.numbers().data_ptr<uint8_t>();
  const auto* weight_scales = weight.scales().data_ptr<float>();
  return by_rows(x, out, width, bias, [&](int64_t first, int64_t count, float* y) {
    kernels.bytes(numbers + first * width, weight_scales + first * groups, {count, width}, from, tokens, y,
                  out);
  });
}

at::Tensor halves_product(const at::Tensor& x, const CompressedWeight& weight, const at::Tensor& bias) {
  const auto& kernels = kernels::gemv_kernels();
  const int64_t out = weight.out(), width = weight.numbers().size(1), tokens = x.numel() / x.size(-1);
  const auto* numbers = reinterpret_cast<const uint16_t*>(weight.numbers().data_ptr<at::BFloat16>());
  const std::vector<float> rows = read_tokens(x, width);
  if (x.scalar_type() == at::kBFloat16 && kernels::multiplies_pairs_in_vectors()) {
    const std::vector<at::BFloat16> halves(rows.begin(), rows.end());
    const auto* from = reinterpret_cast<const uint16_t*>(halves.data());
    return by_rows(x, out, 2 * width, bias, [&](int64_t first, int64_t count, float* y) {
      kernels.pairs(numbers + first * width, {count, width}, from, tokens, y, out);
    });
  }
  std::vector<float> arranged(rows.size());
  kernels.arrange(rows.data(), tokens * width, arranged.data());
  return by_rows(x, out, 2 * width, bias, [&](int64_t first, int64_t count, float* y) {
    kernels.halves(numbers + first * width, {count, width}, arranged.data(), tokens, y, out);
  });
}

at::Tensor singles_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const auto& kernels = kernels::gemv_kernels();
  const int64_t out = weight.size(0), width = weight.size(1), tokens = x.numel() / width;
  const float* numbers = weight.data_ptr<float>();
  const std::vector<float> rows = read_tokens(x, width);
  return by_rows(x, out, 4 * width, bias, [&](int64_t first, int64_t count, float* y) {
    kernels.singles(numbers + first * width, {count, width}, rows.data(), tokens, y, out);
  });
}

/// Whole texts: the products of the linear layers, which read bfloat16 where it lies; int8 is widened some
/// rows at a time.
at::Tensor many_token_product(const at::Tensor& x, const CompressedWeight& weight, const at::Tensor& bias) {
  auto sizes = x.sizes().vec();
  sizes.back() = weight.out();
  const at::Tensor tokens = x.reshape({-1, weight.in()});
  const at::Tensor y = at::empty({tokens.size(0), weight.out()}, x.options());
  const at::Tensor shift = bias.defined() ? bias.to(at::kFloat) : bias;
  if (weight.format() != WeightFormat::int8) {
    multiply(y, tokens, weight.numbers().narrow(1, 0, weight.in()).t(), {false, shift});
    return y.view(sizes);
  }
  constexpr int64_t kRows = 1024;
  for (int64_t first = 0; first < weight.out(); first += kRows) {
    const int64_t count = std::min(kRows, weight.out() - first);
    multiply(y.narrow(1, first, count), tokens, weight.widened(first, count).t(),
             {false, shift.defined() ? shift.narrow(0, first, count) : shift});
  }
  return y.view(sizes);
}

}  // namespace

at::Tensor compressed_linear(const at::Tensor& x, const CompressedWeight& weight, const at::Tensor& bias) {
  LACT_CHECK(x.dim() > 0 && x.size(-1) == weight.in(),
             "[compressed_linear] x has shape {}, expected [..., {}]", x.sizes().vec(), weight.in());
  LACT_CHECK(x.is_cpu() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16),
             "[compressed_linear] x has type {}, expected float32 or bfloat16 on the CPU",
             toString(x.scalar_type()));
  LACT_CHECK(!at::GradMode::is_enabled() || !x.requires_grad(),
             "[compressed_linear] compressed weights have no gradients: they are for inference only");
  if (!are_few_tokens(x)) {
    return fused_paths() ? many_token_product(x, weight, bias)
                         : reference::compressed_linear(x, weight, bias);
  }
  switch (weight.format()) {
    case WeightFormat::int8:
      return bytes_product(x, weight, bias);
    case WeightFormat::bf16:
      return halves_product(x, weight, bias);
    case WeightFormat::f32:
    case WeightFormat::automatic:
      break;
  }
  return singles_product(x, weight.numbers(), bias);
}

bool is_few_token_linear(const at::Tensor& x, const at::Tensor& weight) {
  return are_few_tokens(x) && weight.is_cpu() && weight.scalar_type() == at::kFloat && weight.is_contiguous();
}

at::Tensor few_token_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  LACT_ASSERT(is_few_token_linear(x, weight));
  return singles_product(x, weight, bias);
}

}  // namespace lact::ops
