#include "lact/data/views/scene_source.h"

#include "lact/base/error.h"
#include "lact/base/random.h"
#include "lact/data/views/tracer/random_scene.h"

namespace lact::data {

SceneSource::SceneSource(const SceneSourceConfig& config, ScenePart part)
    : mesh_share_(config.mesh_share), part_(part) {
  LACT_CHECK(mesh_share_ >= 0 && mesh_share_ <= 1, "mesh_share is {}, expected 0 to 1", mesh_share_);
  LACT_CHECK(mesh_share_ == 0 || !config.meshes.empty(),
             "mesh_share is {}, but no meshes are given: name mesh files or a folder of them", mesh_share_);
  constexpr int64_t kMostMeshes = 1 << 20;
  LACT_CHECK(config.holdout >= 0 && config.holdout <= kMostMeshes, "holdout is {}, expected 0 to {}",
             config.holdout, kMostMeshes);
  std::vector<MeshFile> files;
  if (!config.meshes.empty()) {
    files = split_mesh_files(find_mesh_files(config.meshes), part == ScenePart::kHoldout, config.holdout,
                             config.holdout_names);
    LACT_CHECK(mesh_share_ == 0 || !files.empty(),
               "no mesh is held out, so there is none to validate on: set holdout or holdout_names");
  }
  library_ = std::make_unique<MeshLibrary>(std::move(files), config.y_up);
}

tracer::Scene SceneSource::scene(uint64_t seed) const {
  Random random(mix(seed, static_cast<uint64_t>(part_)));
  const bool shows_mesh = random.uniform() < mesh_share_;
  const uint64_t scene_seed = random.next();
  return shows_mesh ? mesh_scene(random.below(num_meshes()), scene_seed) : tracer::random_scene(scene_seed);
}

tracer::Scene SceneSource::mesh_scene(int64_t index, uint64_t seed) const {
  return tracer::mesh_scene(library_->mesh(index), seed);
}

}  // namespace lact::data
