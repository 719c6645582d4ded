#include "lact/data/views/preprocess.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lact/data/views/pose.h"
#include "support/errors.h"
#include "support/limited_memory.h"

namespace lact::data {
namespace {

Camera camera_for(int64_t width, int64_t height) {
  return {width, height, 100, 90, 0.6 * double(width), 0.4 * double(height), identity_pose()};
}

TEST(Preprocess, IntrinsicsFollowByHand) {
  // 100 x 60 must cover 56 x 40: scale 2/3, 67 x 40 pixels, 5 cut at the left.
  const Camera result = resize_and_crop(camera_for(100, 60), 40, 56);
  EXPECT_EQ(result.width, 56);
  EXPECT_EQ(result.height, 40);
  EXPECT_NEAR(result.fx, 200.0 / 3, 1e-12);
  EXPECT_NEAR(result.fy, 60, 1e-12);
  EXPECT_NEAR(result.cx, 60 * 2.0 / 3 - 5, 1e-12);
  EXPECT_NEAR(result.cy, 16, 1e-12);
}

TEST(Preprocess, AMarkStaysWhereTheCameraSeesIt) {
  // A white square around (70, 20) of a black picture; its centre of mass must move as the centre does, up
  // to the rounding of the picture's size, which the authors leave out of the intrinsics.
  at::Tensor image = at::zeros({60, 100, 3}, at::kByte);
  image.slice(0, 16, 24).slice(1, 66, 74).fill_(255);
  Camera camera = camera_for(100, 60);
  camera.cx = 70;
  camera.cy = 20;
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{30, 48}, {40, 56}, {120, 200}}) {
    const Camera moved = resize_and_crop(camera, height, width);
    const at::Tensor light = resize_and_crop(image, height, width).select(2, 0).to(at::kDouble);
    const at::Tensor x = at::arange(width, at::kDouble) + 0.5, y = at::arange(height, at::kDouble) + 0.5;
    const double total = light.sum().item<double>();
    EXPECT_NEAR((light.sum(0) * x).sum().item<double>() / total, moved.cx, 0.3) << width;
    EXPECT_NEAR((light.sum(1) * y).sum().item<double>() / total, moved.cy, 0.3) << height;
  }
}

TEST(Preprocess, TheMiddleStays) {
  const at::Tensor columns = at::arange(9).to(at::kByte).reshape({1, 9, 1}).expand({4, 9, 3});
  const at::Tensor result = resize_and_crop(columns, 4, 4);
  EXPECT_TRUE(at::equal(result.select(0, 0).select(1, 0), at::tensor({2, 3, 4, 5}).to(at::kByte)));
}

TEST(Preprocess, AThinPictureTakesNoMoreThanWhatStays) {
  const testing::LimitedMemory limited(uint64_t(256) << 20);
  for (const auto& sides : {std::pair<int64_t, int64_t>{1, 16384}, {16384, 1}}) {
    const at::Tensor picture = at::full({sides.first, sides.second, 4}, 90, at::kByte);
    const at::Tensor result = resize_and_crop(picture, 512, 512);
    EXPECT_TRUE(result.equal(at::full({512, 512, 4}, 90, at::kByte)));
  }
}

TEST(Preprocess, TransparentIsWhite) {
  const at::Tensor image = at::tensor({10, 20, 30, 255, 10, 20, 30, 0, 0, 100, 255, 128}).to(at::kByte);
  // 0 * 128/255 + 255 * 127/255 = 127; 100 * 128/255 + 127 = 177.2
  const at::Tensor expected = at::tensor({10, 20, 30, 255, 255, 255, 127, 177, 255}).to(at::kByte);
  EXPECT_TRUE(at::equal(composite_on_white(image.reshape({1, 3, 4})), expected.reshape({1, 3, 3})));
}

TEST(Preprocess, PlanesAreInTheUnitInterval) {
  const at::Tensor planes = unit_planes(at::tensor({0, 51, 255}).to(at::kByte).reshape({1, 1, 3}));
  EXPECT_TRUE(at::allclose(planes, at::tensor({0.0f, 0.2f, 1.0f}).reshape({3, 1, 1})));
}

TEST(Preprocess, SizesThatPatchesDoNotDivideAreASentence) {
  check_patches(256, 536, 8);
  EXPECT_SENTENCE(
      check_patches(540, 960, 8),
      "the size 540 x 960 (height x width) is not divisible by the patch of 8 pixels; the nearest "
      "that is: 544 x 960");
  EXPECT_SENTENCE(check_patches(3, 8, 8), "the nearest that is: 8 x 8");
  EXPECT_SENTENCE(check_patches(0, 8, 8), "is not divisible");
  EXPECT_SENTENCE(check_patches(8, 8, 0), "the patch is 0 pixels wide");
}

}  // namespace
}  // namespace lact::data
