#include "lact/io/picture_sheet.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lact/base/error.h"
#include "support/errors.h"

namespace lact::io {
namespace {

at::Tensor plain(double value) { return at::full({3, 4, 5}, value); }

TEST(PictureSheet, PutsEveryPictureInItsPlace) {
  const at::Tensor sheet = picture_sheet({{plain(0), plain(0.5)}, {plain(0.2)}});
  ASSERT_EQ(sheet.sizes(), (std::vector<int64_t>{4 + 2 + 4, 5 + 2 + 5, 3}));
  const auto at = [&](int64_t y, int64_t x) { return sheet[y][x][1].item<int>(); };
  EXPECT_EQ(at(3, 4), 0);
  EXPECT_EQ(at(0, 7), 128);
  EXPECT_EQ(at(9, 0), 51);
  EXPECT_EQ(at(4, 0), 255);  // a gap
  EXPECT_EQ(at(9, 9), 255);  // nothing there
}

TEST(PictureSheet, CutsOffWhatNoPictureHolds) {
  const at::Tensor bytes = to_bytes(at::tensor({-1.f, 0.5f, 3.f}).reshape({3, 1, 1}));
  EXPECT_TRUE(bytes.equal(at::tensor({0, 128, 255}, at::kByte).reshape({1, 1, 3})));
}

TEST(PictureSheet, PicturesOfOtherSizesAreRefused) {
  EXPECT_THAT(testing::sentence_of<Error>([] {
                picture_sheet({{plain(0), at::zeros({3, 4, 4})}});
              }),
              ::testing::HasSubstr("picture 1 of row 0 is not [3, 4, 5]"));
  EXPECT_NE(testing::sentence_of<Error>([] { picture_sheet({}); }), "");
}

}  // namespace
}  // namespace lact::io
