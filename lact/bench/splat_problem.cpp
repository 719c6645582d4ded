#include "lact/bench/splat_problem.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

namespace lact::bench {

std::string SplatShape::name() const { return fmt::format("{} at {}x{}", gaussians, side, side); }

SplatProblem::SplatProblem(const SplatShape& shape) : shape(shape) {
  at::manual_seed(17);
  const int64_t count = shape.gaussians;
  const auto side = double(shape.side);
  // A cloud 4 away that fills the picture, with splats of about two pixels of a picture of 400.
  gaussians.means = at::randn({count, 3});
  gaussians.quaternions = at::randn({count, 4});
  gaussians.log_scales = at::randn({count, 3}) * 0.5 + std::log(0.02);
  gaussians.opacity_logits = at::randn({count}) - 1.5;
  gaussians.harmonics = at::randn({count, 16, 3}) * 0.2;
  cotangent = at::randn({5, shape.side, shape.side});
  gaussians = ops::map_fields(gaussians, [](const at::Tensor& x) { return x.requires_grad_(true); });
  camera = {shape.side, shape.side, side, side, side / 2, side / 2};
  camera.world_to_camera = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 4}}};
}

std::vector<at::Tensor> SplatProblem::run(bool backward, const ops::SplatCamera& seen_from) const {
  if (!backward) {
    at::NoGradGuard no_grad;
    const ops::SplatImage result = ops::splat(gaussians, seen_from);
    return {result.image, result.alpha, result.depth};
  }
  for (const at::Tensor* field : gaussians.fields()) field->mutable_grad() = at::Tensor();
  const ops::SplatImage result = ops::splat(gaussians, seen_from);
  const auto part = [&](int64_t first, int64_t count) {
    return cotangent.narrow(0, first, count).narrow(1, 0, seen_from.height).narrow(2, 0, seen_from.width);
  };
  at::Tensor loss = (result.image * part(0, 3)).sum() + (result.alpha * part(3, 1)[0]).sum() +
                    (result.depth * part(4, 1)[0]).sum();
  loss.backward();
  std::vector<at::Tensor> tensors = {result.image.detach(), result.alpha.detach(), result.depth.detach()};
  for (const at::Tensor* field : gaussians.fields()) tensors.push_back(field->grad());
  return tensors;
}

std::vector<at::Tensor> SplatProblem::run_window(bool backward) const {
  ops::SplatCamera window = camera;
  window.width = window.height = std::min<int64_t>(24, shape.side);
  window.cx -= double(camera.width - window.width) / 2;
  window.cy -= double(camera.height - window.height) / 2;
  return run(backward, window);
}

}  // namespace lact::bench
