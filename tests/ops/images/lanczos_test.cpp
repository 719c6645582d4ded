#include "lact/ops/images/lanczos.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "support/errors.h"
#include "support/limited_memory.h"

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

TEST(Lanczos, APartIsCutOutOfTheWhole) {
  at::manual_seed(2);
  for (const int64_t channels : {3, 4}) {
    const at::Tensor image = at::randint(256, {23, 31, channels}, at::kByte);
    for (const auto& [height, width] : {std::pair{9, 12}, {23, 50}, {60, 31}, {23, 31}, {70, 64}}) {
      const at::Tensor whole = resize_lanczos(image, height, width);
      const at::Tensor part = resize_lanczos(image, {height, 3, height - 5}, {width, 2, width - 9});
      EXPECT_TRUE(part.equal(whole.narrow(0, 3, height - 5).narrow(1, 2, width - 9)))
          << height << " x " << width;
      EXPECT_TRUE(part.is_contiguous());
      EXPECT_FALSE(part.is_alias_of(image));
    }
  }
  const at::Tensor image = at::zeros({4, 4, 3}, at::kByte);
  EXPECT_SENTENCE(resize_lanczos(image, {8, 3, 6}, {8, 0, 8}),
                  "pixels 3 to 9 are asked for, but there are 8");
  EXPECT_SENTENCE(resize_lanczos(image, {8, -1, 6}, {8, 0, 8}), "pixels -1 to 5");
}

TEST(Lanczos, AWholeThatIsLargerThanAnyMemoryHasParts) {
  const testing::LimitedMemory limited(uint64_t(256) << 20);
  const at::Tensor line = at::randint(256, {1, 16384, 3}, at::kByte);
  const int64_t full = int64_t(16384) << 12;
  const at::Tensor part = resize_lanczos(line, {4096, 1900, 256}, {full, full / 2 - 128, 256});
  EXPECT_EQ(part.sizes(), at::IntArrayRef({256, 256, 3}));
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

TEST(Lanczos, OneTransparentColourIsRoundedAsPillowDoes) {
  // Premultiplied and rounded to the nearest, divided again and cut off.
  for (const int alpha : {1, 77, 128, 254}) {
    for (int colour = 0; colour < 256; ++colour) {
      at::Tensor image = at::full({4, 4, 4}, colour, at::kByte);
      image.select(2, 3).fill_(alpha);
      const auto premultiplied = int(std::lround(colour * alpha / 255.0));
      const at::Tensor result = resize_lanczos(image, 2, 2);
      EXPECT_TRUE(result.slice(2, 0, 3).eq(std::min(255, 255 * premultiplied / alpha)).all().item<bool>())
          << "colour " << colour << ", alpha " << alpha;
    }
  }
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
