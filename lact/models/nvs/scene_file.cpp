#include "lact/models/nvs/scene_file.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/io/safetensors.h"
#include "lact/models/common/config_file.h"
#include "lact/models/common/state_file.h"

namespace lact::models {

namespace {

const char* const kSceneKind = "lact scene";
const char* const kIntrinsics = "cameras.intrinsics";
const char* const kCameraToWorld = "cameras.camera_to_world";
const char* const kSizes = "cameras.sizes";
const char* const kWorldToScene = "frame.world_to_scene";
const char* const kScale = "frame.scale";
const char* const kModelPath = "model_path";
constexpr int64_t kLargestSide = 1 << 20;

std::vector<io::ImageSize> read_sizes(const std::string& path, const at::Tensor& sizes) {
  LACT_CHECK(sizes.dim() == 2 && sizes.size(1) == 2 && sizes.scalar_type() == at::kLong && sizes.size(0) > 0,
             "{}: tensor {} has shape {}, expected a height and a width for each view", path, kSizes,
             sizes.sizes().vec());
  std::vector<io::ImageSize> views;
  for (int64_t i = 0; i < sizes.size(0); ++i) {
    const io::ImageSize view = {sizes[i][0].item<int64_t>(), sizes[i][1].item<int64_t>()};
    LACT_CHECK(view.height > 0 && view.width > 0 && view.height <= kLargestSide && view.width <= kLargestSide,
               "{}: view {} is {} x {} pixels", path, i, view.height, view.width);
    views.push_back(view);
  }
  return views;
}

void read_frame(const std::string& path, StateReader& reader, NvsScene& scene) {
  const at::Tensor rows = reader.take(kWorldToScene, {4, 4}).to(at::kDouble);
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 4; ++j) scene.world_to_scene[size_t(i)][size_t(j)] = rows[i][j].item<double>();
  scene.scale = reader.take(kScale, {1}).item<double>();
  LACT_CHECK(scene.scale > 0, "{}: {} is {}, expected a number above 0", path, kScale, scene.scale);
}

}  // namespace

void save_scene(const std::string& path, const NvsScene& scene, const std::string& model_hash) {
  LACT_ASSERT(scene.state != nullptr);
  const auto views = int64_t(scene.sizes.size());
  LACT_CHECK(views > 0 && scene.intrinsics.sizes() == at::IntArrayRef({views, 4}) &&
                 scene.camera_to_world.sizes() == at::IntArrayRef({views, 4, 4}),
             "{}: intrinsics of shape {} and camera_to_world of shape {} for {} views", path,
             scene.intrinsics.sizes().vec(), scene.camera_to_world.sizes().vec(), views);
  io::TensorFile file;
  file.tensors = tensors_of(*scene.state);
  at::Tensor sizes = at::empty({views, 2}, at::kLong);
  for (int64_t i = 0; i < views; ++i) {
    sizes[i][0] = scene.sizes[size_t(i)].height;
    sizes[i][1] = scene.sizes[size_t(i)].width;
  }
  file.tensors[kIntrinsics] = scene.intrinsics;
  file.tensors[kCameraToWorld] = scene.camera_to_world;
  file.tensors[kSizes] = sizes;
  at::Tensor frame = at::empty({4, 4}, at::kDouble);
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 4; ++j) frame[i][j] = scene.world_to_scene[size_t(i)][size_t(j)];
  file.tensors[kWorldToScene] = frame;
  file.tensors[kScale] = at::full({1}, scene.scale, at::kDouble);
  file.metadata = {
      {"kind", kSceneKind}, {"format", "1"}, {"model", model_hash}, {"views", std::to_string(views)}};
  if (!scene.model_path.empty()) file.metadata[kModelPath] = scene.model_path;
  io::write_safetensors(path, file);
}

SceneOrigin read_scene_origin(const std::string& path) {
  auto metadata = io::read_safetensors_metadata(path);
  check_state_file(path, metadata, {kSceneKind, "a scene", metadata["model"]});
  return {metadata["model"], metadata[kModelPath]};
}

NvsScene load_scene(const std::string& path, ViewModel& model, const std::string& model_hash) {
  at::NoGradGuard no_grad;
  auto [tensors, metadata] = io::read_safetensors(path);
  check_state_file(path, metadata, {kSceneKind, "a scene", model_hash});
  StateReader reader(path, std::move(tensors));
  NvsScene scene;
  scene.sizes = read_sizes(path, reader.find(kSizes));
  const auto views = int64_t(scene.sizes.size());
  scene.intrinsics = reader.take(kIntrinsics, {views, 4});
  scene.camera_to_world = reader.take(kCameraToWorld, {views, 4, 4});
  read_frame(path, reader, scene);
  if (const auto hint = metadata.find(kModelPath); hint != metadata.end()) scene.model_path = hint->second;
  scene.state = model.initial_state();
  reader.fill(*scene.state);
  reader.expect_nothing_more("a scene of this model");
  if (scene.state->gaussians) about_file(path, [&] { ops::check_gaussians(*scene.state->gaussians); });
  return scene;
}

}  // namespace lact::models
