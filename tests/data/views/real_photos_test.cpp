// Real photos, where they are at hand: the formats describe the same cameras.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "lact/data/views/capture.h"
#include "lact/data/views/load_views.h"
#include "lact/data/views/pose.h"
#include "support/example_views.h"
#include "support/shared_data.h"

namespace lact::data {
namespace {

namespace fs = std::filesystem;
using testing::expect_same_camera;

/// How far two scenes' cameras are apart: radians, and positions in units of the largest distance from the
/// mean.
struct Apart {
  double angle = 0, distance = 0;
};

Apart median_apart(const Capture& a, const Capture& b) {
  std::vector<double> angles, distances;
  Point mean{};
  for (const View& view : a.views)
    mean = sum(mean, scaled(column(view.camera.camera_to_world, 3), 1.0 / double(a.views.size())));
  double extent = 0;
  for (size_t i = 0; i < a.views.size(); ++i) {
    EXPECT_TRUE(fs::equivalent(a.views[i].image, b.views[i].image));
    const Pose &first = a.views[i].camera.camera_to_world, &second = b.views[i].camera.camera_to_world;
    double trace = 0;
    for (int axis = 0; axis < 3; ++axis) trace += dot(column(first, axis), column(second, axis));
    angles.push_back(std::acos(std::min(1.0, (trace - 1) / 2)));
    distances.push_back(length(difference(column(first, 3), column(second, 3))));
    extent = std::max(extent, length(difference(column(first, 3), mean)));
  }
  std::sort(angles.begin(), angles.end());
  std::sort(distances.begin(), distances.end());
  return {angles[angles.size() / 2], distances[distances.size() / 2] / extent};
}

TEST(RealPhotos, TheFoxIsTheSameInThreeFormats) {
  const std::string folder = testing::shared_data("nvs/fox");
  if (folder.empty()) GTEST_SKIP() << "../shared/data/nvs is absent: the readers were not compared on photos";
  const Capture authors = load_capture(folder), transforms = load_capture(folder + "/transforms.json"),
                colmap = load_capture(folder + "/sparse/0");
  ASSERT_EQ(authors.views.size(), 40u);
  ASSERT_EQ(transforms.views.size(), 40u);
  ASSERT_EQ(colmap.views.size(), 40u);
  for (size_t i = 0; i < 40; ++i)
    expect_same_camera(transforms.views[i].camera, authors.views[i].camera, 2e-5);
  // Another reconstruction of the same photos: 0.05 degrees and 0.1 % apart.
  const Apart apart = median_apart(authors, colmap);
  EXPECT_LT(apart.angle, 0.002);
  EXPECT_LT(apart.distance, 0.005);
  EXPECT_GT(apart.angle, 0) << "these are the same numbers";
  const PosedImages loaded = load_views(authors, {0, 39}, 64, 64);
  EXPECT_EQ(loaded.images[1].sizes(), (std::vector<int64_t>{3, 64, 64}));
  EXPECT_NEAR(loaded.cameras[0].fx, 347.66268 * 64 / 270, 1e-9);
}

TEST(RealPhotos, TheBustIsTheSameInTwoFormats) {
  const std::string folder = testing::shared_data("nvs/alexander_bust");
  if (folder.empty()) GTEST_SKIP() << "../shared/data/nvs is absent: the readers were not compared on photos";
  const Capture authors = load_capture(folder), colmap = load_capture(folder + "/sparse/0/images.bin");
  ASSERT_EQ(authors.views.size(), 42u);
  ASSERT_EQ(colmap.views.size(), 42u);
  for (size_t i = 0; i < 42; ++i) {
    EXPECT_TRUE(fs::equivalent(authors.views[i].image, colmap.views[i].image));
    expect_same_camera(colmap.views[i].camera, authors.views[i].camera, 2e-5);
  }
}

TEST(RealPhotos, TheChairIsTheSameInTwoFormats) {
  const std::string folder = testing::shared_data("nvs/nerf_chair");
  if (folder.empty()) GTEST_SKIP() << "../shared/data/nvs is absent: the readers were not compared on photos";
  const Capture nerf = load_capture(folder), authors = load_capture(folder + "/opencv_cameras_train.json");
  ASSERT_EQ(nerf.views.size(), 100u);
  ASSERT_EQ(authors.views.size(), 100u);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_TRUE(fs::equivalent(authors.views[i].image, nerf.views[i].image));
    expect_same_camera(nerf.views[i].camera, authors.views[i].camera, 2e-5);
  }
}

}  // namespace
}  // namespace lact::data
