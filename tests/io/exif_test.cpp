#include "lact/io/exif.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lact/base/random.h"
#include "support/errors.h"
#include "support/exif_jpeg.h"

namespace lact::io {
namespace {

at::Tensor numbered(int64_t height, int64_t width) {
  return at::arange(height * width).to(at::kByte).reshape({height, width, 1});
}

TEST(Exif, TheOrientationIsFoundInBothByteOrders) {
  const at::Tensor grey = at::full({16, 24, 3}, 100, at::kByte);
  for (const bool big : {false, true})
    for (int orientation = 1; orientation <= 8; ++orientation)
      EXPECT_EQ(exif_orientation(testing::exif_jpeg(grey, orientation, big)), orientation);
  EXPECT_EQ(exif_orientation(encode_jpeg(grey)), 1);
  EXPECT_EQ(exif_orientation(testing::exif_jpeg(grey, 9)), 1);
  EXPECT_EQ(exif_orientation(testing::exif_jpeg(grey, 0)), 1);
  EXPECT_EQ(exif_orientation("\x89PNG\r\n"), 1);
  EXPECT_EQ(exif_orientation(""), 1);
}

TEST(Exif, DamagedSegmentsAreUpright) {
  const std::string whole = testing::exif_jpeg(at::full({16, 16, 3}, 100, at::kByte), 6);
  for (size_t length = 0; length < 60; ++length) {
    const int found = exif_orientation(std::string_view(whole).substr(0, length));
    EXPECT_TRUE(found == 1 || found == 6) << length;
  }
  Random random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = whole;
    for (int k = 0; k < 3; ++k) bytes[size_t(2 + random.below(60))] = char(random.below(256));
    const int found = exif_orientation(bytes);
    EXPECT_TRUE(found >= 1 && found <= 8) << i;
  }
}

/// Each orientation says where the first row and column of what is stored are seen (EXIF 2.3, table 6).
TEST(Exif, EveryOrientationStandsUpright) {
  const at::Tensor stored = numbered(2, 3);  // 0 1 2 / 3 4 5
  const auto seen = [&](int orientation) {
    const at::Tensor image = upright(stored, orientation);
    std::vector<std::vector<int>> rows;
    for (int64_t row = 0; row < image.size(0); ++row) {
      rows.emplace_back();
      for (int64_t column = 0; column < image.size(1); ++column)
        rows.back().push_back(image[row][column][0].item<int>());
    }
    return rows;
  };
  using Rows = std::vector<std::vector<int>>;
  EXPECT_EQ(seen(1), (Rows{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(seen(2), (Rows{{2, 1, 0}, {5, 4, 3}}));
  EXPECT_EQ(seen(3), (Rows{{5, 4, 3}, {2, 1, 0}}));
  EXPECT_EQ(seen(4), (Rows{{3, 4, 5}, {0, 1, 2}}));
  EXPECT_EQ(seen(5), (Rows{{0, 3}, {1, 4}, {2, 5}}));
  EXPECT_EQ(seen(6), (Rows{{3, 0}, {4, 1}, {5, 2}}));
  EXPECT_EQ(seen(7), (Rows{{5, 2}, {4, 1}, {3, 0}}));
  EXPECT_EQ(seen(8), (Rows{{2, 5}, {1, 4}, {0, 3}}));
  EXPECT_SENTENCE(upright(stored, 0), "the orientation is 0, expected 1 to 8");
}

}  // namespace
}  // namespace lact::io
