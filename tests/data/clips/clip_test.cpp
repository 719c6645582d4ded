#include "lact/data/clips/clip.h"

#include <ATen/ATen.h>

#include "support/errors.h"

namespace lact::data {
namespace {

TEST(Clip, PixelsAreFramesInTheRangeOfModels) {
  const at::Tensor frames = at::randint(256, {2, 5, 3, 4, 6}, at::kByte);
  const at::Tensor pixels = pixels_of_frames(frames);
  EXPECT_EQ(pixels.sizes(), (at::IntArrayRef{2, 3, 5, 4, 6}));
  EXPECT_FLOAT_EQ(pixels[1][2][4][3][5].item<float>(), frames[1][4][2][3][5].item<float>() / 127.5F - 1);
  EXPECT_TRUE(frames_of_pixels(pixels).equal(frames));
  EXPECT_TRUE(frames_of_pixels(at::full({3, 1, 2, 2}, -1.5)).eq(0).all().item<bool>());
  EXPECT_TRUE(frames_of_pixels(at::full({3, 1, 2, 2}, 7.0)).eq(255).all().item<bool>());
  EXPECT_SENTENCE(pixels_of_frames(at::zeros({5, 4, 4, 6}, at::kByte)), "expected bytes [..., F, 3, H, W]");
  EXPECT_SENTENCE(frames_of_pixels(at::zeros({4, 5, 4, 6})), "expected numbers [..., 3, F, H, W]");
}

TEST(Clip, ShapesThatCannotBeAreSentences) {
  ClipShape{1, 1, 1}.check();
  EXPECT_SENTENCE((ClipShape{0, 8, 8}.check()), "a clip of 0 frames of 8 x 8 pixels");
  EXPECT_SENTENCE((ClipShape{1 << 20, 8192, 8192}.check()), "cannot be made");
}

}  // namespace
}  // namespace lact::data
