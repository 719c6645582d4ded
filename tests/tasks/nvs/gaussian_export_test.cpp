#include "lact/tasks/nvs/gaussian_export.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lact/data/views/normalize.h"
#include "lact/data/views/preprocess.h"
#include "support/errors.h"
#include "support/gaussians.h"

namespace lact::tasks::nvs {
namespace {

/// A camera at (1, 2, 3), turned about y and x.
data::Camera some_camera() {
  data::Camera camera;
  camera.width = 10, camera.height = 8;
  camera.fx = camera.fy = 14, camera.cx = 5, camera.cy = 4;
  const double a = 0.4, b = -0.3, ca = std::cos(a), sa = std::sin(a), cb = std::cos(b), sb = std::sin(b);
  camera.camera_to_world = {
      {{ca, sa * sb, sa * cb, 1}, {0, cb, -sb, 2}, {-sa, ca * sb, ca * cb, 3}, {0, 0, 0, 1}}};
  return camera;
}

at::Tensor picture(const ops::Gaussians& gaussians, const data::Camera& camera) {
  return ops::splat(gaussians, ops::splat_camera(data::intrinsics_of({camera})[0].to(at::kDouble),
                                                 data::camera_to_world_of({camera})[0].to(at::kDouble),
                                                 camera.height, camera.width))
      .image;
}

// What the model sees of its frame is what the camera in the world sees of the exported Gaussians.
TEST(GaussianExport, IsInTheWorldOfThePhotos) {
  at::manual_seed(5);
  data::Camera other = some_camera();
  other.camera_to_world[0][3] = -2;
  const data::SceneFrame frame = data::mean_pose_frame({some_camera(), other});
  const data::Camera inside = data::to_scene(frame, some_camera());
  models::NvsScene scene;
  scene.state = std::make_unique<models::NvsState>();
  // In front of the camera, in the coordinates of the model.
  ops::Gaussians gaussians = lact::testing::few_gaussians(10, 2);
  const at::Tensor pose = data::camera_to_world_of({inside})[0].to(at::kDouble);
  gaussians.means =
      at::matmul(gaussians.means, pose.slice(0, 0, 3).slice(1, 0, 3).t()) + pose.slice(0, 0, 3).select(1, 3);
  scene.state->gaussians = gaussians;
  scene.world_to_scene = frame.world_to_scene;
  scene.scale = frame.scale;
  ASSERT_NE(frame.scale, 1);
  const at::Tensor seen = picture(gaussians, inside);
  const at::Tensor in_world = picture(gaussians_in_world(scene, 0), some_camera());
  EXPECT_GT(seen.max().item<double>(), 0.1);
  EXPECT_TRUE(in_world.allclose(seen, 1e-4, 1e-5));  // cameras are float32
  const auto opaque = gaussians.opacity_logits.gt(0).sum().item<int64_t>();
  EXPECT_EQ(gaussians_in_world(scene, 0.5).size(), opaque);
}

TEST(GaussianExport, NeedsAGaussianHead) {
  models::NvsConfig config;
  EXPECT_SENTENCE(check_gives_gaussians(config, "--ply"), "--ply needs a model whose head is gaussians");
  config.head = models::NvsHead::gaussians;
  check_gives_gaussians(config, "--ply");
}

}  // namespace
}  // namespace lact::tasks::nvs
