#include "lact/nn/video_patches.h"

#include <ATen/ATen.h>

#include "support/errors.h"
#include "support/gradients.h"

namespace lact::nn {
namespace {

TEST(VideoPatches, ALinearLayerOfThemIsAConvolution) {
  const VideoPatch patch = {2, 3, 4};
  const at::Tensor video = lact::testing::randn({2, 5, 4, 6, 8});
  const at::Tensor weight = lact::testing::randn({7, 5, 2, 3, 4});
  const at::Tensor expected = at::conv3d(video, weight, {}, {2, 3, 4}).flatten(2).transpose(1, 2);
  EXPECT_LT(lact::testing::difference(at::matmul(patchify(video, patch), weight.flatten(1).t()), expected),
            1e-12);
}

TEST(VideoPatches, ComeBackWithChannelsLast) {
  const VideoPatch patch = {2, 3, 4};
  const at::Tensor video = lact::testing::randn({2, 5, 4, 6, 8});
  const at::Tensor channels_last = patchify(video, patch).unflatten(2, {5, 24}).transpose(2, 3).flatten(2);
  EXPECT_TRUE(unpatchify(channels_last, 6, 8, patch).equal(video));
}

TEST(VideoPatches, MistakesAreSentences) {
  EXPECT_SENTENCE(patchify(at::zeros({1, 2, 3, 4}), VideoPatch{}), "expected [B, C, F, H, W]");
  EXPECT_SENTENCE(patchify(at::zeros({1, 2, 3, 4, 5}), {1, 2, 2}),
                  "3 frames of 4 x 5 do not divide into patches of 1 frames of 2 x 2");
  EXPECT_SENTENCE(unpatchify(at::zeros({1, 5, 4}), 4, 4, {1, 2, 2}),
                  "expected [B, frames · 4, 4 · channels]");
}

}  // namespace
}  // namespace lact::nn
