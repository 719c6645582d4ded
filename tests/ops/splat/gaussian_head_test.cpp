#include "lact/ops/splat/gaussian_head.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/gradients.h"
#include "support/tiny_nvs.h"

namespace lact::ops {
namespace {

using lact::testing::tiny_scene;

constexpr int64_t kHeight = 4, kWidth = 6, kPatch = 2;

at::Tensor random_raw(const GaussianHeadOptions& options, int64_t batch, int64_t views) {
  return at::randn(
      {batch, views * (kHeight / kPatch) * (kWidth / kPatch), kPatch * kPatch * options.channels()},
      at::kDouble);
}

Gaussians head_of(const at::Tensor& raw, const lact::testing::TinyScene& scene,
                  const GaussianHeadOptions& options) {
  return gaussian_head(raw, scene.intrinsics.unsqueeze(0), scene.camera_to_world.unsqueeze(0), kHeight,
                       kWidth, kPatch, options);
}

TEST(GaussianHead, GaussiansStandOnTheRaysOfTheirPixels) {
  GaussianHeadOptions options;
  options.sh_degree = 1;
  const auto scene = tiny_scene(3, kHeight, kWidth, at::kDouble);
  const Gaussians gaussians = head_of(random_raw(options, 1, 3), scene, options);
  ASSERT_EQ(gaussians.means.sizes(), at::IntArrayRef({1, 3 * kHeight * kWidth, 3}));
  ASSERT_EQ(gaussians.harmonics.sizes(), at::IntArrayRef({1, 3 * kHeight * kWidth, 4, 3}));
  const at::Tensor points = gaussians.means[0].view({3, kHeight, kWidth, 3});
  for (int64_t view = 0; view < 3; ++view) {
    const at::Tensor pose = scene.camera_to_world[view], numbers = scene.intrinsics[view];
    // Into the camera: Rᵀ (p - o)
    const at::Tensor seen =
        at::matmul(points[view] - pose.slice(0, 0, 3).select(1, 3), pose.slice(0, 0, 3).slice(1, 0, 3));
    const at::Tensor x = seen.select(2, 0) / seen.select(2, 2) * numbers[0] + numbers[2];
    const at::Tensor y = seen.select(2, 1) / seen.select(2, 2) * numbers[1] + numbers[3];
    EXPECT_TRUE(x.allclose((at::arange(kWidth, at::kDouble) + 0.5).expand({kHeight, kWidth})));
    EXPECT_TRUE(y.allclose((at::arange(kHeight, at::kDouble) + 0.5).unsqueeze(1).expand({kHeight, kWidth})));
    EXPECT_LT(seen.norm(2, {2}).max().item<double>(), options.max_dist);
    EXPECT_GT(seen.select(2, 2).min().item<double>(), 0);
  }
}

TEST(GaussianHead, NothingSaidIsTheMiddleOfEverything) {
  GaussianHeadOptions options;
  options.scale_bias = -1;
  options.scale_max = -2;
  const auto scene = tiny_scene(1, kHeight, kWidth, at::kDouble);
  at::Tensor raw = at::zeros_like(random_raw(options, 1, 1));
  raw.view({1, 6, kPatch * kPatch, options.channels()}).select(3, 9).fill_(-3);  // w of the rotation
  const Gaussians gaussians = head_of(raw, scene, options);
  const at::Tensor away = gaussians.means[0] - scene.camera_to_world[0].slice(0, 0, 3).select(1, 3);
  EXPECT_TRUE(away.norm(2, {1}).allclose(at::full({kHeight * kWidth}, options.max_dist / 2, at::kDouble)));
  EXPECT_TRUE(gaussians.log_scales.eq(-2).all().item<bool>());  // cut off
  EXPECT_TRUE(gaussians.opacity_logits.eq(options.opacity_bias).all().item<bool>());
  EXPECT_TRUE(gaussians.quaternions[0][5].equal(at::tensor({-1.0, 0.0, 0.0, 0.0}, at::kDouble)));
}

TEST(GaussianHead, GradientsAreThoseOfFiniteDifferences) {
  GaussianHeadOptions options;
  options.sh_degree = 1;
  options.scale_bias = 0;
  options.scale_max = 100;
  const auto scene = tiny_scene(2, kHeight, kWidth, at::kDouble);
  lact::testing::expect_gradients(
      [&](const std::vector<at::Tensor>& inputs) {
        const Gaussians all = head_of(inputs[0], scene, options);
        std::vector<at::Tensor> flat;
        for (const at::Tensor* field : all.fields()) flat.push_back(field->flatten());
        return at::cat(flat);
      },
      {random_raw(options, 1, 2)});
}

TEST(GaussianHead, ScenesOfABatchAreIndependent) {
  const GaussianHeadOptions options;
  const auto scene = tiny_scene(4, kHeight, kWidth, at::kDouble);
  const at::Tensor raw = random_raw(options, 2, 2);
  const auto both = gaussian_head(raw, scene.intrinsics.view({2, 2, 4}),
                                  scene.camera_to_world.view({2, 2, 4, 4}), kHeight, kWidth, kPatch, options);
  const auto second = head_of(raw.narrow(0, 1, 1), scene.part(at::tensor({2, 3})), options);
  for (size_t i = 0; i < kGaussianFields.size(); ++i)
    EXPECT_TRUE(both.fields()[i]->select(0, 1).equal(second.fields()[i]->select(0, 0))) << kGaussianFields[i];
}

TEST(GaussianHead, MistakesAreSentences) {
  GaussianHeadOptions options;
  const auto scene = tiny_scene(1, kHeight, kWidth, at::kDouble);
  const at::Tensor raw = random_raw(options, 1, 1);
  EXPECT_SENTENCE(head_of(raw.narrow(1, 0, 5), scene, options),
                  "the decoder's output has shape [1, 5, 56], expected [1, 6, 56]");
  EXPECT_SENTENCE(
      gaussian_head(raw, scene.intrinsics.unsqueeze(0), scene.camera_to_world.unsqueeze(0), 4, 6, 4, options),
      "a picture of 4 x 6 pixels does not divide into patches of 4");
  EXPECT_SENTENCE(gaussian_head(raw, scene.intrinsics, scene.camera_to_world, 4, 6, 2, options),
                  "the intrinsics have shape [1, 4], expected [B, V, 4]");
  options.sh_degree = 4;
  EXPECT_SENTENCE(head_of(raw, scene, options), "sh_degree is 4, expected 0 to 3");
}

}  // namespace
}  // namespace lact::ops
