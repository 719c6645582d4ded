// A few coloured Gaussians within the unit ball, and photos of them.
#pragma once

#include <ATen/ATen.h>

#include "lact/data/views/tracer/random_camera.h"
#include "lact/tasks/nvs/gaussian_scene.h"
#include "support/photo_folder.h"

namespace lact::testing {

inline ops::Gaussians ball_of_gaussians(int64_t count = 60, uint64_t seed = 3) {
  at::manual_seed(seed);
  at::Tensor places = at::randn({count, 3});
  places = places / places.norm(2, 1, true) * at::rand({count, 1});
  return {places, at::randn({count, 4}), 0.3 * at::randn({count, 3}) - 2, at::randn({count}) + 2,
          at::randn({count, 4, 3}) * at::tensor({1.5F, 0.2F, 0.2F, 0.2F}).reshape({1, 4, 1})};
}

/// From random places around the origin.
inline data::PosedImages photograph(const ops::Gaussians& gaussians, int64_t views, int64_t height,
                                    int64_t width) {
  const tasks::nvs::GaussianScene scene(gaussians, "ball");
  data::PosedImages photos;
  photos.cameras = data::tracer::random_cameras(5, views, height, width);
  for (const auto& camera : photos.cameras) photos.images.push_back(scene.picture(camera));
  return photos;
}

}  // namespace lact::testing
