#include "lact/tasks/nvs/gaussian_export.h"

#include "lact/base/error.h"
#include "lact/base/options.h"
#include "lact/ops/splat/prune.h"
#include "lact/ops/splat/similarity.h"

namespace lact::tasks::nvs {

ops::Gaussians gaussians_in_world(const models::NvsScene& scene, double opacity) {
  LACT_ASSERT(scene.state && scene.state->gaussians);
  // A point of the world is at s (R p + t): p = Rᵀ x / s - Rᵀ t.
  ops::Similarity to_world;
  to_world.scale = 1 / scene.scale;
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      to_world.rotation[i][j] = scene.world_to_scene[j][i];
      to_world.translation[i] -= scene.world_to_scene[j][i] * scene.world_to_scene[j][3];
    }
  }
  return ops::moved(ops::more_opaque_than(*scene.state->gaussians, opacity), to_world);
}

void check_gives_gaussians(const models::NvsConfig& config, const std::string& what) {
  LACT_CHECK(
      config.has_gaussians(),
      "{} needs a model whose head is gaussians, but this one's is {}; lact nvs train --init MODEL --set "
      "head=gaussians makes one of it",
      what, options::word_of(config.head));
}

}  // namespace lact::tasks::nvs
