// The picture of Gaussians as it is written down: gradients by finite differences, what is refused.
#include "lact/ops/dispatch/paths.h"
#include "support/errors.h"
#include "support/splat_scene.h"

namespace lact::ops {
namespace {

using namespace lact::testing;

/// α from 0.02 to 0.8 everywhere, so that no step crosses a threshold.
SplatScene smooth_scene() {
  SplatScene scene = splat_scene(6, 5, 7);
  scene.gaussians.means = scene.gaussians.means * 0.3;
  scene.gaussians.log_scales = scene.gaussians.log_scales * 0.2 + 0.3;
  scene.gaussians.harmonics = scene.gaussians.harmonics * 0.2;
  return scene;
}

void expect_true_gradients(Splatter splat) {
  const SplatScene scene = smooth_scene();
  const auto& start = scene.gaussians;
  expect_gradients(
      [&](const std::vector<at::Tensor>& x) {
        SplatOptions options = scene.options;
        options.screen_offsets = x[5];
        const SplatImage result = splat({x[0], x[1], x[2], x[3], x[4]}, scene.camera, options);
        return at::cat({result.image.flatten(), result.alpha.flatten(), result.depth.flatten()});
      },
      {start.means, start.quaternions, start.log_scales, start.opacity_logits, start.harmonics,
       scene.options.screen_offsets},
      1e-6);
}

TEST(Splat, ReferenceGradientsAreThoseOfFiniteDifferences) { expect_true_gradients(reference::splat); }
TEST(Splat, FusedGradientsAreThoseOfFiniteDifferences) { expect_true_gradients(fused::splat); }

TEST(Splat, OneGaussianIsWhatTheEquationsSay) {
  Gaussians one = {at::zeros({1, 3}), at::tensor({1.f, 0.f, 0.f, 0.f}).reshape({1, 4}),
                   at::full({1, 3}, -1.f), at::zeros({1}), at::zeros({1, 1, 3})};
  SplatCamera camera = {9, 9, 20, 20, 4.5, 4.5};
  camera.world_to_camera = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 2}}};
  const SplatImage result = splat(one, camera);
  const double variance = std::exp(-2.0) * 100 + 0.3;  // (f e^s / z)² + blur
  for (const auto& [x, y] : std::vector<std::pair<int, int>>{{4, 4}, {6, 4}, {3, 7}}) {
    const double square = (x - 4) * (x - 4) + (y - 4) * (y - 4);
    const double alpha = 0.5 * std::exp(-0.5 * square / variance);
    EXPECT_NEAR(result.alpha[y][x].item<double>(), alpha, 1e-6);
    EXPECT_NEAR(result.image[1][y][x].item<double>(), 0.5 * alpha, 1e-6);
    EXPECT_NEAR(result.depth[y][x].item<double>(), 2 * alpha, 1e-6);
  }
  EXPECT_EQ(result.radii[0][0].item<int64_t>(), int64_t(std::ceil(3.33 * std::sqrt(variance))));
}

TEST(Splat, CameraOfAPoseIsItsInverse) {
  const SplatCamera expected = turned_camera(10, 12);
  at::Tensor pose = at::eye(4, at::kDouble);
  const auto place = expected.centre();
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) pose[column][row] = expected.world_to_camera[row][column];
    pose[row][3] = place[row];
  }
  const at::Tensor numbers = at::tensor({expected.fx, expected.fy, expected.cx, expected.cy}, at::kDouble);
  const SplatCamera camera = splat_camera(numbers, pose, 10, 12);
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 4; ++column)
      EXPECT_NEAR(camera.world_to_camera[row][column], expected.world_to_camera[row][column], 1e-12);
}

TEST(Splat, ReferenceRunsWhereFusedPathsAreOff) {
  const SplatScene scene = splat_scene(10, 12, 12);
  set_fused_paths(false);
  const SplatImage plain = splat(scene.gaussians, scene.camera, scene.options);
  set_fused_paths(true);
  EXPECT_TRUE(at::equal(plain.image, reference::splat(scene.gaussians, scene.camera, scene.options).image));
}

TEST(Splat, MistakesAreOneSentence) {
  const SplatScene good = splat_scene(4, 8, 8);
  const auto expect_refused = [&](const std::string& sentence, const auto& spoil) {
    SplatScene scene = good;
    scene.gaussians = map_fields(good.gaussians, [](const at::Tensor& x) { return x.clone(); });
    spoil(scene);
    EXPECT_SENTENCE(splat(scene.gaussians, scene.camera, scene.options), "[splat] " + sentence);
  };
  expect_refused("means have shape [4, 2], expected [N, 3]", [](SplatScene& s) {
    s.gaussians.means = at::zeros({4, 2});
  });
  expect_refused("quaternions have shape [3, 4], expected [4, 4]", [](SplatScene& s) {
    s.gaussians.quaternions = at::zeros({3, 4});
  });
  expect_refused("harmonics have 5 coefficients, expected 1, 4, 9 or 16", [](SplatScene& s) {
    s.gaussians.harmonics = at::zeros({4, 5, 3});
  });
  expect_refused("log_scales are Float but means are Double",
                 [](SplatScene& s) { s.gaussians.log_scales = s.gaussians.log_scales.to(at::kFloat); });
  expect_refused("opacity_logits hold a number that is not finite",
                 [](SplatScene& s) { s.gaussians.opacity_logits[1] = std::nan(""); });
  expect_refused("screen_offsets have shape [4, 3], expected [4, 2]", [](SplatScene& s) {
    s.options.screen_offsets = at::zeros({4, 3}, at::kDouble);
  });
  expect_refused("screen_offsets are Float but means are Double", [](SplatScene& s) {
    s.options.screen_offsets = at::zeros({4, 2}, at::kFloat);
  });
  expect_refused("degree is 4, expected 0 to 3", [](SplatScene& s) { s.options.degree = 4; });
  expect_refused("near is 0 and far is 10000000000, expected 0 < near < far",
                 [](SplatScene& s) { s.options.near = 0; });
  expect_refused("blur is -1, expected 0 or more", [](SplatScene& s) { s.options.blur = -1; });
  expect_refused("a picture of 8 x 0 pixels, expected 1 x 1 to 32768 x 32768",
                 [](SplatScene& s) { s.camera.width = 0; });
  expect_refused("focal lengths are 0 and", [](SplatScene& s) { s.camera.fx = 0; });
  expect_refused("the camera holds a number that is not finite",
                 [](SplatScene& s) { s.camera.world_to_camera[0][3] = std::nan(""); });
}

}  // namespace
}  // namespace lact::ops
