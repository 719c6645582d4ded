// The kernels' picture of Gaussians equals the one that is written down: values and every gradient.
#include <fmt/format.h>

#include "lact/base/threads.h"
#include "lact/ops/dispatch/paths.h"
#include "support/instruction_sets.h"
#include "support/splat_scene.h"

namespace lact::ops {
namespace {

using namespace lact::testing;

/// float64, on the same numbers. A Gaussian whose α is within rounding of 1/255 in a pixel may be there in
/// one and not in the other, by 0.4 % of its colour; `slack` allows for that, where the scene has such
/// pixels.
void expect_like_reference(const SplatScene& scene, at::ScalarType type, double tolerance,
                           const std::string& name) {
  const SplatScene own = converted(scene, type);
  expect_equal(splat_values(splat, own), splat_values(reference::splat, converted(own, at::kDouble)),
               tolerance, name);
}

std::string named(const SplatScene& scene, const std::string& more = "") {
  return fmt::format("{} Gaussians, {} x {} {}", scene.gaussians.size(), scene.camera.height,
                     scene.camera.width, more);
}

TEST(SplatFused, EqualsTheReferenceInFloat64) {
  for (const int64_t count : {0, 1, 2, 7, 100}) {
    for (const auto& [height, width] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {17, 33}, {24, 40}, {16, 16}}) {
      const SplatScene scene = splat_scene(count, height, width);
      expect_like_reference(scene, at::kDouble, 1e-11, named(scene));
    }
  }
}

TEST(SplatFused, EqualsTheReferenceInFloat32) {
  for (const int64_t count : {0, 1, 7, 60}) {
    for (const auto& [height, width] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {17, 33}, {24, 40}}) {
      const SplatScene scene = splat_scene(count, height, width);
      expect_like_reference(scene, at::kFloat, 3e-5, named(scene));
    }
  }
}

TEST(SplatFused, EqualsTheReferenceOnEveryInstructionSet) {
  const SplatScene scene = splat_scene(83, 29, 37);
  for_each_isa([&](const std::string& isa) {
    expect_like_reference(scene, at::kFloat, 3e-5, named(scene, isa));
    expect_like_reference(scene, at::kDouble, 1e-11, named(scene, isa));
  });
}

TEST(SplatFused, EveryDegreeUsesItsCoefficientsOnly) {
  for (const int64_t coefficients : {1, 4, 9, 16}) {
    for (const int64_t degree : {0, 1, 2, 3}) {
      SplatScene scene = splat_scene(20, 20, 20, coefficients);
      scene.options.degree = degree;
      expect_like_reference(scene, at::kDouble, 1e-11,
                            fmt::format("{} coefficients, degree {}", coefficients, degree));
    }
  }
}

TEST(SplatFused, NearAndFarAndThePrincipalPointCutAlike) {
  SplatScene scene = splat_scene(80, 30, 44);
  scene.gaussians.means = scene.gaussians.means * 4;  // behind the camera, beside the picture, far away
  scene.gaussians.log_scales = scene.gaussians.log_scales + 1.5;
  scene.options.near = 1.5;
  scene.options.far = 6;
  scene.camera = turned_camera(30, 44, 0.4);
  const SplatValues values = splat_values(splat, scene);
  const int64_t seen = values.radii.select(1, 0).gt(0).sum().item<int64_t>();
  EXPECT_GT(seen, 5);
  EXPECT_LT(seen, 60);
  expect_like_reference(scene, at::kDouble, 1e-11, "cut");
}

TEST(SplatFused, NeedlesAndSubpixelAndHugeOnes) {
  SplatScene scene = splat_scene(60, 33, 35);
  scene.gaussians.log_scales.slice(0, 0, 20).select(1, 0).fill_(1);  // needles
  scene.gaussians.log_scales.slice(0, 0, 20).narrow(1, 1, 2).fill_(-9);
  scene.gaussians.log_scales.slice(0, 20, 40).fill_(-12);  // the blur alone is seen
  scene.gaussians.log_scales.slice(0, 40, 50).fill_(3);    // wider than the picture
  expect_like_reference(scene, at::kDouble, 1e-10, "extreme");
  expect_like_reference(scene, at::kFloat, 3e-3, "extreme");
}

TEST(SplatFused, SaturatedPixelsEndAndCappedOnesKeepTheirColour) {
  SplatScene scene = splat_scene(150, 24, 40);
  scene.gaussians.log_scales = scene.gaussians.log_scales + 1;
  scene.gaussians.opacity_logits = scene.gaussians.opacity_logits + 4;
  const SplatValues values = splat_values(splat, scene);
  EXPECT_GT(values.tensors[1].max().item<double>(), 0.999);
  expect_like_reference(scene, at::kDouble, 1e-9, "saturated");
}

TEST(SplatFused, EqualDepthsAreDrawnInInputOrder) {
  SplatScene scene = splat_scene(40, 24, 24);
  scene.camera.world_to_camera = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 4}}};
  scene.gaussians.means.select(1, 2).fill_(0.25);
  expect_like_reference(scene, at::kDouble, 1e-11, "ties");
  expect_like_reference(scene, at::kFloat, 3e-5, "ties");
}

TEST(SplatFused, ManyGaussiansOnASmallPicture) {
  SplatScene scene = converted(splat_scene(100000, 12, 14), at::kFloat);
  // thousands in front of a pixel: faint enough that none ends.
  scene.gaussians.opacity_logits = scene.gaussians.opacity_logits * 0.2 - 5.2;
  scene.gaussians.log_scales = scene.gaussians.log_scales - 2.5;
  at::NoGradGuard no_grad;
  const SplatImage own = splat(scene.gaussians, scene.camera, scene.options);
  const SplatImage expected = reference::splat(scene.gaussians, scene.camera, scene.options);
  EXPECT_TRUE(at::equal(own.radii, expected.radii));
  EXPECT_GT(own.alpha.max().item<double>(), 0.5);
  // α near 1/255 is there in one and not in the other: each such pair is worth 1/255 of what is left there.
  EXPECT_LT(difference(own.image, expected.image), 4e-3);
  EXPECT_LT((own.image - expected.image).abs().mean().item<double>(), 1e-5);
  EXPECT_LT((own.alpha - expected.alpha).abs().mean().item<double>(), 1e-5);
}

TEST(SplatFused, ThreadsChangeNoBit) {
  const SplatScene scene = converted(splat_scene(3000, 70, 90), at::kFloat);
  const int before = threads_in_use();
  use_threads(1);
  const SplatValues one = splat_values(splat, scene);
  use_threads(2);
  const SplatValues two = splat_values(splat, scene);
  use_threads(before);
  for (size_t i = 0; i < one.tensors.size(); ++i)
    EXPECT_TRUE(at::equal(one.tensors[i], two.tensors[i])) << SplatValues::kNames[i];
}

TEST(SplatFused, ScreenOffsetsAreNotNeeded) {
  SplatScene scene = splat_scene(10, 12, 12);
  scene.options.screen_offsets.zero_();
  const SplatValues expected = splat_values(splat, scene);
  scene.options.screen_offsets = at::Tensor();
  const Gaussians leaves =
      map_fields(scene.gaussians, [](const at::Tensor& x) { return x.detach().requires_grad_(true); });
  const SplatImage own = splat(leaves, scene.camera, scene.options);
  EXPECT_TRUE(at::equal(own.image, expected.tensors[0]));
  own.image.sum().backward();
  EXPECT_TRUE(leaves.means.grad().defined());
}

TEST(SplatFused, TakesTensorsWithGapsAndGradientsOfOneOutput) {
  SplatScene scene = splat_scene(30, 20, 28);
  const SplatValues packed = splat_values(splat, scene);
  for (at::Tensor* field : scene.gaussians.fields())
    *field = at::stack({*field, *field + 1}, -1).select(-1, 0);
  const Gaussians leaves =
      map_fields(scene.gaussians, [](const at::Tensor& x) { return x.detach().requires_grad_(true); });
  const SplatImage own = splat(leaves, scene.camera, scene.options);
  EXPECT_TRUE(at::equal(own.image, packed.tensors[0]));
  const Gaussians others =
      map_fields(leaves, [](const at::Tensor& x) { return x.detach().clone().requires_grad_(true); });
  own.depth.sum().backward();
  reference::splat(others, scene.camera, scene.options).depth.sum().backward();
  EXPECT_LT(difference(leaves.means.grad(), others.means.grad()), 1e-11);
  EXPECT_LT(difference(leaves.opacity_logits.grad(), others.opacity_logits.grad()), 1e-11);
}

TEST(SplatFused, AQuaternionOfZerosTurnsNothingAndSpoilsNobody) {
  SplatScene scene = splat_scene(20, 20, 20);
  scene.gaussians.quaternions.select(0, 3).zero_();
  expect_like_reference(scene, at::kDouble, 1e-11, "zeros");
  SplatScene turned = scene;
  turned.gaussians.quaternions = scene.gaussians.quaternions.clone();
  turned.gaussians.quaternions.select(0, 3).copy_(at::tensor({2.0, 0.0, 0.0, 0.0}, at::kDouble));
  EXPECT_TRUE(at::equal(splat_values(splat, scene).tensors[0], splat_values(splat, turned).tensors[0]));
}

TEST(SplatFused, GaussiansTooWideForTheNumbersAreNotSeen) {
  SplatScene scene = converted(splat_scene(5, 16, 16), at::kFloat);
  scene.gaussians.log_scales.select(0, 2).fill_(80);
  const SplatValues values = splat_values(splat, scene);
  EXPECT_EQ(values.radii[2].sum().item<int64_t>(), 0);
  for (const auto& tensor : values.tensors) EXPECT_TRUE(at::isfinite(tensor).all().item<bool>());
}

}  // namespace
}  // namespace lact::ops
