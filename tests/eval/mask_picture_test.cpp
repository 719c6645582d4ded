#include "lact/eval/mask_picture.h"

#include <ATen/ATen.h>

#include "support/errors.h"

namespace lact::eval {
namespace {

const at::Tensor kDiagonal = at::eye(3, at::kBool);
const at::Tensor kLower = at::ones({3, 3}, at::kBool).tril();

TEST(MaskPicture, CellsAreTwoCharactersWideWhereThereIsRoom) {
  EXPECT_EQ(mask_text({kDiagonal, {}}, 80), "██····\n··██··\n····██\n");
  EXPECT_EQ(mask_text({kDiagonal, {}}, 5), "█··\n·█·\n··█\n");
}

TEST(MaskPicture, MemoryWindowAndBothLookDifferent) {
  EXPECT_EQ(mask_text({kLower, kDiagonal}, 3), "▓··\n█▓·\n██▓\n█ memory  ▒ window  ▓ both\n");
}

TEST(MaskPicture, AShrunkCellShowsWhatAnyOfItsTokensShows) {
  at::Tensor mask = at::zeros({5, 5}, at::kBool);
  mask[3][4] = true;
  EXPECT_EQ(mask_text({mask, {}}, 3), "···\n··█\n···\none cell is 2 x 2 tokens\n");
}

TEST(MaskPicture, TheWholeWidthIsUsed) {
  EXPECT_EQ(mask_text({kDiagonal, {}}, 6), "██····\n··██··\n····██\n");
}

TEST(MaskPicture, AShrunkCellShowsTheWindowToo) {
  at::Tensor memory = at::zeros({4, 4}, at::kBool), window = at::zeros({4, 4}, at::kBool);
  memory[0][1] = true;
  window[3][2] = true;
  window[0][0] = true;
  EXPECT_EQ(mask_text({memory, window}, 2), "▓·\n·▒\n█ memory  ▒ window  ▓ both\none cell is 2 x 2 tokens\n");
}

TEST(MaskPicture, ImageHasOneColourPerKindOfCell) {
  const at::Tensor image = mask_image({kLower, kDiagonal}, 30);
  EXPECT_EQ(image.sizes(), (std::vector<int64_t>{30, 30, 3}));
  const auto colour = [&](int64_t row, int64_t column) { return image[row * 10 + 5][column * 10 + 5]; };
  EXPECT_TRUE(colour(0, 0).equal(colour(2, 2)));
  EXPECT_FALSE(colour(0, 0).equal(colour(1, 0)));
  EXPECT_FALSE(colour(0, 1).equal(colour(1, 0)));
}

TEST(MaskPicture, WrongShapesGetASentence) {
  EXPECT_SENTENCE(mask_text({at::ones({2, 3}, at::kBool), {}}, 80), "expected [T, T]");
  EXPECT_SENTENCE(mask_image({kLower, at::ones({2, 2}, at::kBool)}), "the window has shape [2, 2]");
}

}  // namespace
}  // namespace lact::eval
