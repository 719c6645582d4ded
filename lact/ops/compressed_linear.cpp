#include "lact/ops/compressed_linear.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/kernels/gemv.h"
#include "lact/ops/paths.h"
#include "lact/ops/work_items.h"

namespace lact::ops {

namespace {

/// Bytes of a weight that a worker reads before it asks for more.
constexpr int64_t kBytesPerItem = int64_t(1) << 16;

bool is_fused_type(const at::Tensor& x) {
  return x.is_cpu() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

/// x as rows of float32, padded with zeros to `width`: [tokens, width].
at::Tensor token_rows(const at::Tensor& x, int64_t width) {
  const int64_t in = x.size(-1);
  const at::Tensor rows = x.reshape({-1, in}).to(at::kFloat).contiguous();
  return width == in ? rows : at::constant_pad_nd(rows, {0, width - in});
}

/// Calls product(first, count, y) for ranges of rows, where y points to the row `first` of the first token;
/// y [tokens, out] comes back in the dtype of x, with the bias added.
template <class Product>
at::Tensor by_rows(const at::Tensor& x, int64_t out, int64_t row_bytes, const at::Tensor& bias,
                   const Product& product) {
  const int64_t in = x.size(-1), tokens = x.numel() / in;
  auto sizes = x.sizes().vec();
  sizes.back() = out;
  at::Tensor y = at::empty(sizes, x.options().dtype(at::kFloat));
  float* results = y.data_ptr<float>();
  const int64_t step = std::max<int64_t>(1, kBytesPerItem / row_bytes);
  const at::Tensor shift = bias.defined() ? bias.to(at::kFloat).contiguous() : at::Tensor();
  const float* shifts = shift.defined() ? shift.data_ptr<float>() : nullptr;
  for_each_item((out + step - 1) / step, [&](int64_t item, int64_t) {
    const int64_t first = item * step, count = std::min(step, out - first);
    product(first, count, results + first);
    if (shifts == nullptr) return;
    for (int64_t token = 0; token < tokens; ++token) {
      for (int64_t row = first; row < first + count; ++row) results[token * out + row] += shifts[row];
    }
  });
  return y.to(x.scalar_type());
}

at::Tensor bytes_product(const at::Tensor& x, const CompressedWeight& weight, const at::Tensor& bias) {
  const auto& kernels = kernels::gemv_kernels();
  const int64_t out = weight.out(), width = weight.numbers().size(1), groups = weight.scales().size(1);
  const at::Tensor rows = token_rows(x, width);
  const int64_t tokens = rows.size(0);
  const at::Tensor bytes = at::empty({tokens, width}, at::kChar);
  const at::Tensor scales = at::empty({tokens, groups}, at::kFloat);
  const at::Tensor sums = at::empty({tokens, groups}, at::kInt);
  const kernels::ByteTokens from = {bytes.data_ptr<int8_t>(), scales.data_ptr<float>(),
                                    sums.data_ptr<int32_t>()};
  kernels.quantize(rows.data_ptr<float>(), tokens * width, bytes.data_ptr<int8_t>(), scales.data_ptr<float>(),
                   sums.data_ptr<int32_t>());
  const auto* numbers = weight.numbers().data_ptr<uint8_t>();
  const auto* weight_scales = weight.scales().data_ptr<float>();
  return by_rows(x, out, width, bias, [&](int64_t first, int64_t count, float* y) {
    kernels.bytes(numbers + first * width, weight_scales + first * groups, {count, width}, from, tokens, y,
                  out);
  });
}

at::Tensor halves_product(const at::Tensor& x, const CompressedWeight& weight, const at::Tensor& bias) {
  const auto& kernels = kernels::gemv_kernels();
  const int64_t out = weight.out(), width = weight.numbers().size(1);
  const auto* numbers = reinterpret_cast<const uint16_t*>(weight.numbers().data_ptr<at::BFloat16>());
  const at::Tensor rows = token_rows(x, width);
  const int64_t tokens = rows.size(0);
  if (x.scalar_type() == at::kBFloat16 && kernels::multiplies_pairs()) {
    const at::Tensor halves = rows.to(at::kBFloat16);
    const auto* from = reinterpret_cast<const uint16_t*>(halves.data_ptr<at::BFloat16>());
    return by_rows(x, out, 2 * width, bias, [&](int64_t first, int64_t count, float* y) {
      kernels.pairs(numbers + first * width, {count, width}, from, tokens, y, out);
    });
  }
  const at::Tensor arranged = at::empty_like(rows);
  kernels.arrange(rows.data_ptr<float>(), tokens * width, arranged.data_ptr<float>());
  const float* from = arranged.data_ptr<float>();
  return by_rows(x, out, 2 * width, bias, [&](int64_t first, int64_t count, float* y) {
    kernels.halves(numbers + first * width, {count, width}, from, tokens, y, out);
  });
}

at::Tensor singles_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const auto& kernels = kernels::gemv_kernels();
  const int64_t out = weight.size(0), width = weight.size(1);
  const float* numbers = weight.data_ptr<float>();
  const at::Tensor rows = token_rows(x, width);
  const float* from = rows.data_ptr<float>();
  return by_rows(x, out, 4 * width, bias, [&](int64_t first, int64_t count, float* y) {
    kernels.singles(numbers + first * width, {count, width}, from, rows.size(0), y, out);
  });
}

}  // namespace

at::Tensor compressed_linear(const at::Tensor& x, const CompressedWeight& weight, const at::Tensor& bias) {
  LACT_CHECK(x.dim() > 0 && x.size(-1) == weight.in(),
             "[compressed_linear] x has shape {}, expected [..., {}]", x.sizes().vec(), weight.in());
  LACT_CHECK(is_fused_type(x), "[compressed_linear] x has type {}, expected float32 or bfloat16 on the CPU",
             toString(x.scalar_type()));
  LACT_CHECK(!at::GradMode::is_enabled() || !x.requires_grad(),
             "[compressed_linear] compressed weights have no gradients: they are for inference only");
  const int64_t tokens = x.numel() / weight.in();
  if (!fused_paths() || tokens == 0 || tokens > kFewTokens) {
    return reference::compressed_linear(x, weight, bias);
  }
  switch (weight.format()) {
    case WeightFormat::int8:
      return bytes_product(x, weight, bias);
    case WeightFormat::bf16:
      return halves_product(x, weight, bias);
    case WeightFormat::f32:
      break;
  }
  return singles_product(x, weight.numbers(), bias);
}

bool is_few_token_linear(const at::Tensor& x, const at::Tensor& weight) {
  return !at::GradMode::is_enabled() && fused_paths() && is_fused_type(x) && x.numel() > 0 &&
         x.numel() <= kFewTokens * x.size(-1) && weight.is_cpu() && weight.scalar_type() == at::kFloat &&
         weight.is_contiguous();
}

at::Tensor few_token_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  LACT_ASSERT(is_few_token_linear(x, weight));
  return singles_product(x, weight, bias);
}

}  // namespace lact::ops
