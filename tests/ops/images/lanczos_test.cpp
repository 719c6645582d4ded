#include "lact/ops/images/lanczos.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "support/errors.h"

namespace lact::ops {
namespace {

double sinc(double x) { return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }

/// [target, source]: what each target pixel takes of each source pixel.
at::Tensor weights_by_definition(int64_t source, int64_t target) {
  at::Tensor weights = at::zeros({target, source}, at::kDouble);
  const double scale = static_cast<double>(source) / static_cast<double>(target),
               stretch = std::max(scale, 1.0);
  for (int64_t i = 0; i < target; ++i) {
    for (int64_t j = 0; j < source; ++j) {
      const double x = (static_cast<double>(j) + 0.5 - (static_cast<double>(i) + 0.5) * scale) / stretch;
      if (std::abs(x) < 3) weights[i][j] = sinc(x) * sinc(x / 3);
    }
  }
  return weights / weights.sum(1, true);
}

TEST(Lanczos, AgreesWithTheDefinitionUpToRounding) {
  at::manual_seed(1);
  const at::Tensor image = at::randint(40, 216, {23, 31, 3}, at::kByte);
  for (const auto& [height, width] : {std::pair{9, 12}, {23, 50}, {60, 31}, {7, 64}, {1, 1}}) {
    const at::Tensor expected =
        at::einsum("ij,kl,jlc->ikc", {weights_by_definition(23, height), weights_by_definition(31, width),
                                      image.to(at::kDouble)})
            .clamp(0, 255);
    const at::Tensor found = resize_lanczos(image, height, width).to(at::kDouble);
    // Half a step of rounding after each of the two passes; the second enlarges the first one's a little.
    EXPECT_LT((found - expected).abs().max().item<double>(), 1.5) << height << " x " << width;
  }
}

TEST(Lanczos, OneColourStays) {
  const at::Tensor image = at::full({10, 14, 3}, 77, at::kByte);
  for (const int64_t side : {3, 10, 40})
    EXPECT_TRUE(resize_lanczos(image, side, side).eq(77).all().item<bool>()) << side;
}

TEST(Lanczos, TheSameSizeIsACopy) {
  const at::Tensor image = at::randint(256, {5, 6, 4}, at::kByte);
  EXPECT_TRUE(at::equal(resize_lanczos(image, 5, 6), image));
}

TEST(Lanczos, ColoursUnderTransparentPixelsDoNotBleed) {
  at::Tensor image = at::zeros({8, 8, 4}, at::kByte);
  image.slice(1, 0, 4).select(2, 0).fill_(200);  // opaque red at the left,
  image.slice(1, 0, 4).select(2, 3).fill_(255);
  image.slice(1, 4, 8).select(2, 1).fill_(255);  // invisible green at the right
  const at::Tensor result = resize_lanczos(image, 4, 4);
  EXPECT_EQ(result.select(2, 1).max().item<int>(), 0);
  const at::Tensor visible = result.select(2, 3).gt(20);
  EXPECT_GE(result.select(2, 0).masked_select(visible).min().item<int>(), 190);
}

TEST(Lanczos, OtherShapesAreASentence) {
  EXPECT_SENTENCE(resize_lanczos(at::zeros({4, 4, 3}), 2, 2), "the image is Float [4, 4, 3], expected uint8");
  EXPECT_SENTENCE(resize_lanczos(at::zeros({4, 4}, at::kByte), 2, 2), "the image is Byte [4, 4]");
  EXPECT_SENTENCE(resize_lanczos(at::zeros({4, 4, 3}, at::kByte), 0, 2), "the new size is 2 x 0");
}

}  // namespace
}  // namespace lact::ops
