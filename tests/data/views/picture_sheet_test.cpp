#include "lact/data/views/picture_sheet.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lact/data/views/preprocess.h"
#include "support/errors.h"

namespace lact::data {
namespace {

TEST(PictureSheet, PicturesAreWhereTheyBelong) {
  const auto picture = [] { return at::rand({3, 5, 7}); };
  const std::vector<std::vector<at::Tensor>> rows = {
      {picture(), picture(), picture()}, {picture(), at::Tensor(), picture()}, {picture()}};
  const at::Tensor sheet = picture_sheet(rows);
  ASSERT_EQ(sheet.sizes(), (std::vector<int64_t>{3 * 5 + 2 * kSheetGap, 3 * 7 + 2 * kSheetGap, 3}));
  // Everything that is not a picture is white.
  at::Tensor rest = at::ones({sheet.size(0), sheet.size(1)}, at::kBool);
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < int64_t(rows[i].size()); ++j) {
      if (!rows[i][j].defined()) continue;
      const auto place = [&](const at::Tensor& all) {
        return all.narrow(0, i * (5 + kSheetGap), 5).narrow(1, j * (7 + kSheetGap), 7);
      };
      EXPECT_TRUE(at::equal(place(sheet), byte_image(rows[i][j]))) << i << " " << j;
      place(rest).fill_(false);
    }
  }
  EXPECT_EQ(rest.sum().item<int64_t>(), sheet.size(0) * sheet.size(1) - 6 * 5 * 7);
  EXPECT_TRUE(sheet.index({rest}).eq(255).all().item<bool>());
}

TEST(PictureSheet, MistakesAreSentences) {
  EXPECT_SENTENCE(picture_sheet({}), "there are no pictures");
  EXPECT_SENTENCE(picture_sheet({{at::Tensor()}, {}}), "there are no pictures");
  EXPECT_SENTENCE(picture_sheet({{at::rand({3, 4, 4})}, {at::rand({3, 4, 4}), at::rand({3, 4, 8})}}),
                  "row 1, column 1 is 8 x 4 pixels, but the pictures before it are 4 x 4");
  EXPECT_SENTENCE(picture_sheet({{at::rand({4, 4, 3})}}), "[3, H, W]");
}

}  // namespace
}  // namespace lact::data
