#include "lact/data/clips/clip_sheet.h"

#include <ATen/ATen.h>

#include "support/errors.h"

namespace lact::data {
namespace {

TEST(ClipSheet, ShowsFramesFromTheFirstToTheLast) {
  const at::Tensor clip = at::arange(9, at::kByte).view({9, 1, 1, 1}).expand({9, 3, 4, 6}).contiguous();
  const at::Tensor sheet = clip_sheet({clip, clip.narrow(0, 0, 1)}, 3);
  ASSERT_EQ(sheet.sizes(), (at::IntArrayRef{4 + 2 + 4, 6 + 2 + 6 + 2 + 6, 3}));
  EXPECT_EQ(sheet[0][0][0].item<int>(), 0);
  EXPECT_EQ(sheet[0][8][0].item<int>(), 4);
  EXPECT_EQ(sheet[0][16][0].item<int>(), 8);
  EXPECT_EQ(sheet[9][0][0].item<int>(), 0);
  EXPECT_SENTENCE(clip_sheet({clip.to(at::kFloat)}, 3), "expected bytes [F, 3, H, W]");
  EXPECT_SENTENCE(clip_sheet({clip}, 0), "0 columns");
}

}  // namespace
}  // namespace lact::data
