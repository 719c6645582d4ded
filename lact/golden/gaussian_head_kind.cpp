// Golden cases of Long-LRM's Gaussian head.
#include <ATen/ATen.h>

#include "lact/golden/kinds.h"
#include "lact/ops/images/rays.h"
#include "lact/ops/splat/gaussian_head.h"

namespace lact::golden {

namespace {

struct GaussianHeadCase : ops::GaussianHeadOptions {
  int64_t batch = 0, views = 0, height = 0, width = 0, patch = 0;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("batch", batch, "");
    field("views", views, "");
    field("height", height, "");
    field("width", width, "");
    field("patch", patch, "");
    ops::GaussianHeadOptions::visit(field);
  }
};

}  // namespace

void run_gaussian_head(Run& run) {
  GaussianHeadCase options;
  options::read(run.options(), options, "options");
  const at::Tensor raw = run.input("raw"), intrinsics = run.input("intrinsics"), poses = run.input("c2w");
  LACT_CHECK(
      intrinsics.dim() == 3 && intrinsics.size(0) == options.batch && intrinsics.size(1) == options.views,
      "intrinsics have shape {}, expected [{}, {}, 4]", intrinsics.sizes().vec(), options.batch,
      options.views);
  const ops::Gaussians gaussians =
      ops::gaussian_head(raw, intrinsics, poses, options.height, options.width, options.patch, options);
  const auto rays = ops::plucker_rays(intrinsics, poses, options.height, options.width)
                        .permute({0, 1, 3, 4, 2})
                        .flatten(1, 3)
                        .split(3, 2);
  run.expect("ray_o", rays[0]);
  run.expect("ray_d", rays[1]);
  run.expect("distance", ((gaussians.means.detach() - rays[0]) * rays[1]).sum(2));
  const std::pair<const char*, const at::Tensor*> results[] = {{"xyz", &gaussians.means},
                                                               {"sh", &gaussians.harmonics},
                                                               {"log_scale", &gaussians.log_scales},
                                                               {"rotation", &gaussians.quaternions},
                                                               {"opacity_logit", &gaussians.opacity_logits}};
  at::Tensor loss;
  for (const auto& [name, result] : results) {
    run.expect(std::string("output.") + name, *result);
    const at::Tensor part = (*result * run.input(std::string("r.") + name)).sum(at::kDouble);
    loss = loss.defined() ? loss + part : part;
  }
  run.expect("loss", loss.reshape({1}));
  run.expect_gradients_of(loss);
}

}  // namespace lact::golden
