// Small scenes of Gaussians, and all values and gradients of their picture.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "lact/ops/splat/splat.h"
#include "support/gradients.h"

namespace lact::testing {

struct SplatScene {
  ops::Gaussians gaussians;
  ops::SplatCamera camera;
  ops::SplatOptions options;
};

/// A camera at (0, 0, -4) that is turned and looks at the origin.
inline ops::SplatCamera turned_camera(int64_t height, int64_t width, double off_centre = 0) {
  ops::SplatCamera camera = {height,
                             width,
                             0.9 * double(width) + 3,
                             0.8 * double(height) + 4,
                             (0.5 + off_centre) * double(width),
                             (0.5 - off_centre) * double(height)};
  const double turn = 0.3, c = std::cos(turn), s = std::sin(turn);
  camera.world_to_camera = {{{c, -s, 0, 0.1}, {s * c, c * c, -s, -0.1}, {s * s, s * c, c, 4}}};
  return camera;
}

/// In a ball around the origin, pixels wide; float64.
inline SplatScene splat_scene(int64_t count, int64_t height, int64_t width, int64_t coefficients = 16) {
  at::manual_seed(41 + count);
  const double pixel = 4 / (0.9 * double(width) + 3);
  SplatScene scene;
  scene.gaussians = {randn({count, 3}) * 0.9, randn({count, 4}),
                     randn({count, 3}) * 0.5 + std::log(2 * pixel), randn({count}),
                     randn({count, coefficients, 3}) * 0.4};
  scene.camera = turned_camera(height, width);
  scene.options.background = {0.2, 0.5, 0.9};
  scene.options.screen_offsets = randn({count, 2}) * 0.3;
  return scene;
}

inline SplatScene converted(const SplatScene& scene, at::ScalarType type) {
  SplatScene result = scene;
  result.gaussians =
      ops::map_fields(scene.gaussians, [&](const at::Tensor& x) { return x.detach().to(type); });
  result.options.screen_offsets = scene.options.screen_offsets.to(type);
  return result;
}

using Splatter = ops::SplatImage (*)(const ops::Gaussians&, const ops::SplatCamera&,
                                     const ops::SplatOptions&);

struct SplatValues {
  std::vector<at::Tensor> tensors;
  static constexpr const char* kNames[] = {"image",
                                           "alpha",
                                           "depth",
                                           "gradient of means",
                                           "gradient of quaternions",
                                           "gradient of log_scales",
                                           "gradient of opacity_logits",
                                           "gradient of harmonics",
                                           "gradient of screen_offsets"};
  at::Tensor radii;
};

/// The gradients are those of a fixed random weighting of image, alpha and depth.
inline SplatValues splat_values(Splatter splat, const SplatScene& scene) {
  const auto leaf = [](const at::Tensor& x) { return x.detach().clone().requires_grad_(true); };
  const ops::Gaussians leaves = ops::map_fields(scene.gaussians, leaf);
  ops::SplatOptions options = scene.options;
  options.screen_offsets = leaf(options.screen_offsets);
  const ops::SplatImage result = splat(leaves, scene.camera, options);
  at::manual_seed(42);
  at::Tensor loss;
  SplatValues values;
  for (const at::Tensor* output : {&result.image, &result.alpha, &result.depth}) {
    const at::Tensor part = (*output * randn(output->sizes()).to(output->scalar_type())).sum();
    loss = loss.defined() ? loss + part : part;
    values.tensors.push_back(output->detach());
  }
  loss.backward();
  const auto gradient = [&](const at::Tensor& x) {
    values.tensors.push_back(x.grad().defined() ? x.grad() : at::zeros_like(x));
  };
  for (const at::Tensor* field : leaves.fields()) gradient(*field);
  gradient(options.screen_offsets);
  values.radii = result.radii;
  return values;
}

/// Within a share of each tensor's largest number.
inline void expect_equal(const SplatValues& own, const SplatValues& expected, double tolerance,
                         const std::string& name) {
  EXPECT_TRUE(at::equal(own.radii, expected.radii)) << name;
  for (size_t i = 0; i < expected.tensors.size(); ++i) {
    const std::string what = name + ", " + SplatValues::kNames[i];
    ASSERT_EQ(own.tensors[i].sizes(), expected.tensors[i].sizes()) << what;
    EXPECT_TRUE(at::isfinite(own.tensors[i]).all().item<bool>()) << what;
    if (expected.tensors[i].numel() > 0)
      EXPECT_LT(difference(own.tensors[i], expected.tensors[i]), tolerance) << what;
  }
}

}  // namespace lact::testing
