#include "lact/io/png.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include "lact/base/error.h"
#include "support/temporary_folder.h"

namespace lact::io {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TemporaryFolder;

/// Decodes with libpng; grey images as [H, W], colour as [H, W, 3].
at::Tensor decode(const std::string& path) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(png_image_begin_read_from_file(&png, path.c_str())) << png.message;
  const bool colour = (png.format & PNG_FORMAT_FLAG_COLOR) != 0;
  png.format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  std::vector<int64_t> shape = {png.height, png.width};
  if (colour) shape.push_back(3);
  at::Tensor image = at::empty(shape, at::kByte);
  EXPECT_TRUE(png_image_finish_read(&png, nullptr, image.data_ptr(), 0, nullptr)) << png.message;
  return image;
}

at::Tensor random_image(at::IntArrayRef shape) { return at::randint(256, shape, at::kByte); }

std::string refusal(const std::string& path, const at::Tensor& image) {
  return testing::sentence_of<Error>([&] { write_png(path, image); });
}

TEST(Png, EveryPixelComesBack) {
  TemporaryFolder folder;
  for (const auto& shape :
       std::vector<std::vector<int64_t>>{{5, 7, 3}, {5, 7}, {1, 1, 3}, {1, 1}, {64, 33, 3}, {1, 300}}) {
    const at::Tensor image = random_image(shape);
    write_png(folder / "image.png", image);
    EXPECT_TRUE(at::equal(decode(folder / "image.png"), image)) << image.sizes();
  }
}

TEST(Png, RowsAndColumnsOfAViewAreWrittenInItsOrder) {
  TemporaryFolder folder;
  const at::Tensor planes = random_image({3, 6, 4});
  write_png(folder / "image.png", planes.permute({2, 1, 0}));
  EXPECT_TRUE(at::equal(decode(folder / "image.png"), planes.permute({2, 1, 0})));
}

TEST(Png, RefusesOtherTypesAndShapesInASentence) {
  TemporaryFolder folder;
  const std::string path = folder / "image.png";
  EXPECT_THAT(refusal(path, at::zeros({4, 4, 3})), HasSubstr("has dtype Float, expected uint8"));
  EXPECT_THAT(refusal(path, at::zeros({3, 4, 5}, at::kByte)),
              HasSubstr("has shape [3, 4, 5], expected [H, W, 3], [H, W, 4] or [H, W]"));
  EXPECT_THAT(refusal(path, at::zeros({4}, at::kByte)), HasSubstr("has shape [4]"));
  EXPECT_THAT(refusal(path, at::zeros({0, 4, 3}, at::kByte)), HasSubstr("has shape [0, 4, 3]"));
  EXPECT_THAT(refusal(path, at::zeros({1}, at::kByte).expand({1, 2'000'000})),
              HasSubstr("expected sides of 1 to"));
  EXPECT_THAT(refusal(path, at::zeros({1}, at::kByte).expand({900'000, 900'000})),
              HasSubstr("expected less than 2 GiB"));
  EXPECT_THAT(refusal(path, at::Tensor()), HasSubstr("undefined"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(Png, AFailedWriteLeavesNoFile) {
  TemporaryFolder folder;
  EXPECT_THAT(refusal(folder / "missing/image.png", random_image({4, 4})), HasSubstr("does not exist"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

}  // namespace
}  // namespace lact::io
