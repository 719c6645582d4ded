#include "lact/ops/losses/l1_dssim.h"

#include "lact/ops/losses/losses.h"
#include "support/errors.h"
#include "support/like_reference.h"

namespace lact::ops {
namespace {

using lact::testing::expect_gradients;
using lact::testing::expect_like_reference;
using lact::testing::for_each_isa;

at::Tensor random_pictures(at::IntArrayRef sizes) { return at::rand(sizes, at::kDouble); }

TEST(L1Dssim, GradientsAreTheDerivatives) {
  at::manual_seed(1);
  const at::Tensor target = random_pictures({2, 3, 9, 14});
  for (const double lambda : {0.0, 0.2, 1.0})
    expect_gradients(
        [&](const std::vector<at::Tensor>& in) { return reference::l1_dssim(in[0], target, lambda); },
        {random_pictures({2, 3, 9, 14})}, 1e-5);
}

TEST(L1Dssim, KernelsAreLikeTheReferenceAtAnySize) {
  at::manual_seed(2);
  for_each_isa([](const std::string&) {
    for (const auto& [height, width] : {std::pair(1, 1), {3, 40}, {11, 11}, {17, 33}, {64, 50}}) {
      const at::Tensor image = random_pictures({2, 3, height, width}).to(at::kFloat);
      const at::Tensor target = (image + 0.2 * random_pictures({2, 3, height, width}).to(at::kFloat));
      ASSERT_TRUE(fused::fits_l1_dssim(image, target));
      for (const double lambda : {0.0, 0.2, 1.0})
        expect_like_reference(
            [&](const std::vector<at::Tensor>& in) { return l1_dssim(in[0], target, lambda); },
            [&](const std::vector<at::Tensor>& in) {
              return reference::l1_dssim(in[0], target.to(at::kDouble), lambda);
            },
            {image}, 2e-4);
    }
  });
}

TEST(L1Dssim, IsZeroForEqualPicturesAndKnowsThePartsOfALoss) {
  at::manual_seed(3);
  const at::Tensor a = random_pictures({1, 3, 20, 24}), b = random_pictures({1, 3, 20, 24});
  EXPECT_NEAR(l1_dssim(a, a, 0.2).item<double>(), 0, 1e-12);
  EXPECT_NEAR(l1_dssim(a, b, 0).item<double>(), (a - b).abs().mean().item<double>(), 1e-12);
  const double whole = l1_dssim(a, b, 0.2).item<double>();
  EXPECT_NEAR(whole, 0.8 * l1_dssim(a, b, 0).item<double>() + 0.2 * l1_dssim(a, b, 1).item<double>(), 1e-12);
  // With zeros around the pictures it is the SSIM of the metrics.
  const auto padded = [](const at::Tensor& x) { return at::constant_pad_nd(x, {5, 5, 5, 5}); };
  EXPECT_NEAR(1 - l1_dssim(a, b, 1).item<double>(), ssim_map(padded(a), padded(b)).mean().item<double>(),
              1e-9);
}

TEST(L1Dssim, RefusesWhatDoesNotFit) {
  const at::Tensor a = at::rand({1, 3, 4, 5});
  EXPECT_SENTENCE(l1_dssim(a, at::rand({1, 3, 5, 4})), "expected two equal [N, C, H, W]");
  EXPECT_SENTENCE(l1_dssim(a, a.to(at::kDouble)), "are Float and Double");
}

}  // namespace
}  // namespace lact::ops
