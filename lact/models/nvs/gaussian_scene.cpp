#include "lact/models/nvs/gaussian_scene.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/ops/splat/picture.h"
#include "lact/ops/splat/prune.h"
#include "lact/ops/splat/view_by_view.h"

namespace lact::models {

namespace {

const ops::SplatOptions kOnWhite = {.background = {1, 1, 1}};

}  // namespace

Prediction show_gaussians(const ops::Gaussians& scenes, const SceneViews& views,
                          const GaussiansConfig& config) {
  const profile::Scope part("splatting");
  const auto [height, width] = views.size();
  std::vector<at::Tensor> pictures, opacities;
  for (int64_t scene = 0; scene < views.images.size(0); ++scene) {
    const ops::Gaussians all = ops::map_fields(scenes, [&](const at::Tensor& field) { return field[scene]; });
    const ops::Gaussians kept = ops::most_opaque(all, config.keep, config.keep_random);
    std::vector<ops::SplatCamera> cameras;
    for (int64_t view = views.inputs(); view < views.intrinsics.size(1); ++view)
      cameras.push_back(ops::splat_camera(views.intrinsics[scene][view], views.camera_to_world[scene][view],
                                          height, width));
    pictures.push_back(ops::splat_view_by_view(kept, cameras, kOnWhite));
    opacities.push_back(kept.opacity_logits.sigmoid().mean());
  }
  return {at::stack(pictures).to(views.images.device()),
          at::stack(opacities).mean().to(views.images.device())};
}

at::Tensor draw_gaussians(const ops::Gaussians& gaussians, const at::Tensor& intrinsics,
                          const at::Tensor& camera_to_world, int64_t height, int64_t width) {
  return ops::splat_picture(gaussians, ops::splat_camera(intrinsics, camera_to_world, height, width))
      .to(intrinsics.device());
}

std::unique_ptr<NvsState> gaussian_scene(const std::vector<ops::Gaussians>& pieces,
                                         const GaussiansConfig& config, const parallel::Group& ranks) {
  LACT_ASSERT(!pieces.empty());
  ops::Gaussians all = pieces.front();
  for (size_t i = 0; i < all.fields().size(); ++i) {
    std::vector<at::Tensor> parts;
    for (const auto& piece : pieces) parts.push_back(piece.fields()[i]->detach()[0]);
    *all.fields()[i] = ranks.gather_rows(at::cat(parts), "gathering Gaussians");
  }
  auto scene = std::make_unique<NvsState>();
  scene->gaussians = ops::most_opaque(all, config.keep);
  return scene;
}

std::unique_ptr<NvsState> empty_gaussian_scene(const GaussiansConfig& config) {
  auto scene = std::make_unique<NvsState>();
  scene->gaussians = ops::Gaussians{at::empty({0, 3}), at::empty({0, 4}), at::empty({0, 3}), at::empty({0}),
                                    at::empty({0, config.coefficients(), 3})};
  return scene;
}

}  // namespace lact::models
