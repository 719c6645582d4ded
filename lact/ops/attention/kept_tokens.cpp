#include "lact/ops/attention/kept_tokens.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/ops/attention/window_attention_run.h"
#include "lact/ops/dispatch/dtypes.h"
#include "lact/ops/dispatch/paths.h"

namespace lact::ops {

namespace {

KeptTokens to_bytes(const at::Tensor& x) {
  LACT_CHECK(x.dim() == 4 && x.is_cpu(),
             "[attention] tokens of shape {} are to be kept as int8, expected [B, T, H, D] on the CPU",
             x.sizes().vec());
  LACT_CHECK(!at::GradMode::is_enabled() || !x.requires_grad(),
             "[attention] keys and values that are kept as int8 have no gradients");
  const at::Tensor rows = x.detach().to(at::kFloat).contiguous();
  KeptTokens kept = {at::empty(x.sizes(), at::kChar), at::empty(x.sizes().slice(0, 3), at::kFloat)};
  const int64_t width = x.size(3), count = kept.scales.numel();
  const auto& kernels = kernels::attention_query_kernels();
  constexpr int64_t kFewRows = 256;
  at::parallel_for(0, count, kFewRows, [&](int64_t begin, int64_t end) {
    kernels.to_bytes(rows.data_ptr<float>() + begin * width, end - begin, width,
                     kept.numbers.data_ptr<int8_t>() + begin * width, kept.scales.data_ptr<float>() + begin);
  });
  return kept;
}

void check_kept(const char* what, const KeptTokens& kept) {
  const bool bytes = kept.numbers.scalar_type() == at::kChar;
  LACT_CHECK(kept.numbers.dim() == 4 && bytes == kept.scales.defined() &&
                 (!bytes || kept.scales.sizes() == kept.numbers.sizes().slice(0, 3)),
             "[attention] the kept {} have shape {} and scales of shape {}, expected [B, T, H, D] and, for "
             "int8 alone, [B, T, H]",
             what, kept.numbers.sizes().vec(),
             kept.scales.defined() ? kept.scales.sizes().vec() : std::vector<int64_t>());
}

bool fits_queries(const at::Tensor& q, const KeptTokens& k, const KeptTokens& v, const Window& window) {
  const auto usable = [](const at::Tensor& x) {
    const auto type = x.scalar_type();
    return x.is_cpu() && x.numel() > 0 && x.stride(3) == 1 &&
           (type == at::kFloat || type == at::kBFloat16 || type == at::kChar);
  };
  const auto scaled = [](const KeptTokens& x) { return !x.scales.defined() || x.scales.stride(2) == 1; };
  bool few = true;
  for (const auto& block : window.blocks) few = few && block.queries.size() <= fused::kFewQueries;
  return few && usable(q) && q.scalar_type() != at::kChar && usable(k.numbers) && usable(v.numbers) &&
         k.numbers.scalar_type() == v.numbers.scalar_type() && scaled(k) && scaled(v) &&
         !(at::GradMode::is_enabled() && q.requires_grad());
}

}  // namespace

KeptTokens keep(const at::Tensor& x, CacheFormat format) {
  switch (format) {
    case CacheFormat::int8:
      return to_bytes(x);
    case CacheFormat::f32:
      return {x.to(at::kFloat), {}};
    case CacheFormat::bf16:
      return {x.to(at::kBFloat16), {}};
    case CacheFormat::automatic:
      break;
  }
  return {x, {}};
}

at::Tensor widened(const KeptTokens& kept, at::ScalarType type) {
  if (!kept.scales.defined()) return kept.numbers.to(type);
  return kept.numbers.to(at::kFloat).mul_(kept.scales.unsqueeze(3)).to(type);
}

at::Tensor kept_attention(const at::Tensor& q, const KeptTokens& k, const KeptTokens& v, const Window& window,
                          int64_t first_query, int64_t first_key) {
  check_kept("keys", k);
  check_kept("values", v);
  const auto type = q.scalar_type();
  if (k.numbers.scalar_type() == type && v.numbers.scalar_type() == type) {
    return window_attention(q, k.numbers, v.numbers, window, first_query, first_key);
  }
  check_attention(q, k.numbers, v.numbers, window, first_query, first_key);
  if (!fused_paths()) return reference::kept_attention(q, k, v, window, first_query, first_key);
  if (fits_queries(q, k, v, window)) {
    const AttentionPieces pieces(window, first_query, first_key);
    return fused::run_attention({q, k.numbers, v.numbers, k.scales, v.scales}, pieces, at::Tensor());
  }
  return window_attention(q, widened(k, type), widened(v, type), window, first_query, first_key);
}

namespace reference {

at::Tensor kept_attention(const at::Tensor& q, const KeptTokens& k, const KeptTokens& v, const Window& window,
                          int64_t first_query, int64_t first_key) {
  const auto wide = wide_type(q.scalar_type());
  return reference::window_attention(q.to(wide), widened(k, wide), widened(v, wide), window, first_query,
                                     first_key)
      .to(q.scalar_type());
}

}  // namespace reference

}  // namespace lact::ops
