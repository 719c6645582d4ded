#include "lact/ops/splat/view_by_view.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/gaussians.h"

namespace lact::ops {
namespace {

using lact::testing::few_gaussians;
using lact::testing::small_camera;

std::vector<SplatCamera> three_cameras() {
  std::vector<SplatCamera> cameras;
  for (int i = 0; i < 3; ++i) {
    at::Tensor pose = at::eye(4, at::kDouble);
    pose[0][3] = 0.4 * i - 0.4;
    cameras.push_back(small_camera(6, 8, pose));
  }
  return cameras;
}

TEST(SplatViewByView, PicturesAndGradientsAreThoseOfDrawingAllTogether) {
  at::manual_seed(3);
  const Gaussians given = few_gaussians(9, 1);
  const SplatOptions options = {.background = {1, 0.5, 0}};
  const at::Tensor weighting = at::randn({3, 3, 6, 8}, at::kDouble);
  const auto run = [&](const auto& draw) {
    const Gaussians leaves =
        map_fields(given, [](const at::Tensor& field) { return field.clone().requires_grad_(true); });
    const at::Tensor pictures = draw(leaves);
    (pictures * weighting).sum().backward();
    std::vector<at::Tensor> result = {pictures.detach()};
    for (const at::Tensor* field : leaves.fields()) result.push_back(field->grad());
    return result;
  };
  const auto together = run([&](const Gaussians& leaves) {
    std::vector<at::Tensor> pictures;
    for (const auto& camera : three_cameras()) pictures.push_back(splat(leaves, camera, options).image);
    return at::stack(pictures);
  });
  const auto one_by_one =
      run([&](const Gaussians& leaves) { return splat_view_by_view(leaves, three_cameras(), options); });
  for (size_t i = 0; i < together.size(); ++i) {
    EXPECT_TRUE(one_by_one[i].allclose(together[i], 1e-9, 1e-12)) << i;
    EXPECT_GT(together[i].abs().max().item<double>(), 0) << i;
  }
}

TEST(SplatViewByView, MistakesAreSentences) {
  const Gaussians given = few_gaussians(2, 0);
  EXPECT_SENTENCE(splat_view_by_view(given, {}), "there is no camera");
  EXPECT_SENTENCE(splat_view_by_view(given, {small_camera(6, 8), small_camera(8, 8)}),
                  "pictures of 6 x 8 and of 8 x 8 pixels, expected one size");
}

}  // namespace
}  // namespace lact::ops
