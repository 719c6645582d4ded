#include <ATen/ATen.h>

#include "lact/ops/splat/projection.h"

namespace lact::ops::reference {

namespace {

/// Seen Gaussians, nearest first; ties in input order.
at::Tensor front_to_back(const Projection& projection) {
  const at::Tensor seen = projection.radii.select(1, 0).gt(0).nonzero().squeeze(1);
  const at::Tensor depths = projection.depths.detach().index_select(0, seen);
  return seen.index_select(0, std::get<1>(at::sort(depths, /*stable=*/true, 0, /*descending=*/false)));
}

/// Centres of all pixels: [H W, 2].
at::Tensor pixel_centres(const SplatCamera& camera, const at::TensorOptions& options) {
  const at::Tensor x = at::arange(camera.width, options) + 0.5, y = at::arange(camera.height, options) + 0.5;
  const std::vector<int64_t> plane = {camera.height, camera.width};
  return at::stack({x.expand(plane), y.unsqueeze(1).expand(plane)}, 2).flatten(0, 1);
}

}  // namespace

SplatImage splat(const Gaussians& gaussians, const SplatCamera& camera, const SplatOptions& options) {
  const Projection all = project(gaussians, camera, options);
  const at::Tensor order = front_to_back(all);
  const auto sorted = [&](const at::Tensor& of_all) { return of_all.index_select(0, order); };
  at::Tensor means = all.means;
  if (options.screen_offsets.defined()) means = means + options.screen_offsets;
  const at::Tensor opacities = sorted(gaussians.opacity_logits).sigmoid();
  const at::Tensor colour = sorted(colours(gaussians, camera, std::min(options.degree, gaussians.degree())));

  // [H W, n]: every pixel against every Gaussian
  const at::Tensor pixels = pixel_centres(camera, means.options());
  const auto offset = (sorted(means) - pixels.unsqueeze(1)).unbind(2);
  const auto conic = sorted(all.conics).unbind(1);
  const at::Tensor sigma = 0.5 * (conic[0] * offset[0].square() + conic[2] * offset[1].square()) +
                           conic[1] * offset[0] * offset[1];
  const at::Tensor strength = opacities * (-sigma).exp();
  at::Tensor alpha = strength.clamp_max(kAlphaCap);
  alpha = at::where(alpha.ge(kAlphaThreshold).logical_and(sigma.ge(0)), alpha, at::zeros_like(alpha));
  const at::Tensor passing = (1 - alpha).cumprod(1);
  alpha = at::where(passing.gt(kTransmittanceStop), alpha, at::zeros_like(alpha));
  const at::Tensor left = (1 - alpha).cumprod(1);  // T behind each Gaussian
  const at::Tensor before = at::cat({at::ones({left.size(0), 1}, left.options()), left}, 1);
  const at::Tensor weight = alpha * before.narrow(1, 0, alpha.size(1));
  const at::Tensor remaining = before.select(1, alpha.size(1));

  const auto& back = options.background;
  const at::Tensor background = at::tensor({back[0], back[1], back[2]}, at::kDouble).to(means.options());
  const at::Tensor image = at::matmul(weight, colour) + remaining.unsqueeze(1) * background;
  const at::Tensor depth = at::matmul(weight, sorted(all.depths));
  const std::vector<int64_t> plane = {camera.height, camera.width};
  return {image.t().reshape({3, camera.height, camera.width}), (1 - remaining).reshape(plane),
          depth.reshape(plane), all.radii};
}

}  // namespace lact::ops::reference
