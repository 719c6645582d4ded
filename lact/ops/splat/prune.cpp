#include "lact/ops/splat/prune.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"

namespace lact::ops {

Gaussians take(const Gaussians& gaussians, const at::Tensor& indices) {
  return map_fields(gaussians, [&](const at::Tensor& field) { return field.index_select(0, indices); });
}

Gaussians most_opaque(const Gaussians& gaussians, double keep, double at_random) {
  LACT_CHECK(keep > 0 && keep <= 1 && at_random >= 0 && at_random <= 1,
             "[splat] the share {} of all Gaussians, {} of it at random, expected shares from 0 to 1", keep,
             at_random);
  if (keep == 1) return gaussians;
  const auto all = double(gaussians.size());
  const auto drawn = int64_t(all * keep * at_random), best = int64_t(all * keep * (1 - at_random));
  const at::Tensor order = gaussians.opacity_logits.detach().argsort(/*dim=*/0, /*descending=*/true);
  at::Tensor kept = order.narrow(0, 0, best);
  if (drawn > 0) {
    const at::Tensor others = order.slice(0, best);
    const at::Tensor chosen = at::randperm(others.size(0), others.options()).narrow(0, 0, drawn);
    kept = at::cat({kept, others.index_select(0, chosen)});
  }
  return take(gaussians, std::get<0>(kept.sort()));
}

Gaussians more_opaque_than(const Gaussians& gaussians, double opacity) {
  const at::Tensor seen = gaussians.opacity_logits.detach().sigmoid().gt(opacity);
  return take(gaussians, seen.nonzero().squeeze(1));
}

}  // namespace lact::ops
