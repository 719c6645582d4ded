#include "lact/nn/patches.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/gradients.h"

namespace lact::nn {
namespace {

TEST(Patches, OrderIsViewRowColumnThenPixelThenChannel) {
  // Every number says where it stands: view, channel, row, column.
  const at::Tensor images = at::empty({1, 2, 3, 4, 6});
  for (int64_t v = 0; v < 2; ++v)
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t y = 0; y < 4; ++y)
        for (int64_t x = 0; x < 6; ++x) images[0][v][c][y][x] = 1000 * v + 100 * c + 10 * y + x;
  const at::Tensor tokens = patchify(images, 2);
  ASSERT_EQ(tokens.sizes(), at::IntArrayRef({1, 12, 12}));
  // View 1, second row of patches, third column: its pixel (row 1, column 0) in the middle channel.
  const int64_t token = 6 + 3 + 2, number = (1 * 2 + 0) * 3 + 1;
  EXPECT_EQ(tokens[0][token][number].item<float>(), 1000 + 100 + 10 * 3 + 4);
  EXPECT_TRUE(unpatchify(tokens, 2, 4, 6, 2).equal(images));
}

TEST(Patches, MistakesAreSentences) {
  EXPECT_SENTENCE(patchify(at::zeros({1, 1, 3, 6, 8}), 4),
                  "6 x 8 pixels does not divide into patches of 4 x 4");
  EXPECT_SENTENCE(patchify(at::zeros({3, 6, 8}), 2), "expected [B, V, C, H, W]");
  EXPECT_SENTENCE(unpatchify(at::zeros({1, 5, 12}), 1, 4, 4, 2), "expected [B, 4, 4");
}

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
