#include "lact/io/image_size.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace lact::io {
namespace {

TEST(ImageSize, ANumberIsASquareAndTwoAreRowsAndColumns) {
  EXPECT_EQ(ImageSize::parse("64"), (ImageSize{64, 64}));
  EXPECT_EQ(ImageSize::parse("72x128"), (ImageSize{72, 128}));
  EXPECT_EQ((ImageSize{72, 128}.text()), "72x128");
  EXPECT_EQ((ImageSize{64, 64}.text()), "64");
}

TEST(ImageSize, AnythingElseIsRefused) {
  for (const char* text : {"", "x", "8x", "x8", "8x8x8", "8 x 8", "8,5", "8.5", "99999999999999999999"})
    EXPECT_SENTENCE(ImageSize::parse(text), "is not a size, expected a number or height x width");
  EXPECT_SENTENCE(ImageSize::parse("0"), "a side of 0 pixels, expected 1 to 16384");
  EXPECT_SENTENCE(ImageSize::parse("8x-8"), "a side of -8 pixels");
}

}  // namespace
}  // namespace lact::io
