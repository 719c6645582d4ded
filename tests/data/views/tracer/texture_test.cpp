#include "lact/data/views/tracer/texture.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "data/views/tracer/rays.h"
#include "lact/io/jpeg.h"
#include "lact/io/png.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::data::tracer {
namespace {

using testing::expect_near;
using testing::TemporaryFolder;
using testing::write_file;

/// red green
/// blue  white
Texture four_texels() { return {2, 2, {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255}}; }

TEST(TracerTexture, UGoesToTheRightAndVUpwards) {
  const Texture texture = four_texels();
  expect_near(texture.sample(0.25F, 0.75F), {1, 0, 0}, 1e-6F);
  expect_near(texture.sample(0.75F, 0.75F), {0, 1, 0}, 1e-6F);
  expect_near(texture.sample(0.25F, 0.25F), {0, 0, 1}, 1e-6F);
  expect_near(texture.sample(0.75F, 0.25F), {1, 1, 1}, 1e-6F);
}

TEST(TracerTexture, BetweenTexelsColoursBlendAndTheTextureRepeats) {
  const Texture texture = four_texels();
  expect_near(texture.sample(0.5F, 0.75F), {0.5F, 0.5F, 0}, 1e-6F);
  expect_near(texture.sample(0.5F, 0.5F), {0.5F, 0.5F, 0.5F}, 1e-6F);
  expect_near(texture.sample(0, 0.75F), {0.5F, 0.5F, 0}, 1e-6F);
  expect_near(texture.sample(3.25F, -1.25F), {1, 0, 0}, 1e-6F);
  expect_near(texture.sample(1, 1), {0.5F, 0.5F, 0.5F}, 1e-6F);
  expect_near(texture.sample(1e18F, -1e18F), {0.5F, 0.5F, 0.5F}, 1e-6F);
}

TEST(TracerTexture, FromAfarTheAverageIsSeen) {
  const TexturePyramid pyramid(four_texels());
  expect_near(pyramid.sample(0.25F, 0.75F, 0.5F), {1, 0, 0}, 1e-6F);
  expect_near(pyramid.sample(0.25F, 0.75F, 2), {0.5F, 0.5F, 0.5F}, 3e-3F);
  expect_near(pyramid.sample(0.25F, 0.75F, 1.5F), {0.75F, 0.25F, 0.25F}, 3e-3F);
  expect_near(pyramid.sample(0.25F, 0.75F, 1000), {0.5F, 0.5F, 0.5F}, 3e-3F);
}

TEST(TracerTexture, AveragesAreRoundedToTheNearest) {
  // Three quarters, a half and a quarter of one step.
  const TexturePyramid pyramid({2, 2, {1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0}});
  expect_near(pyramid.sample(0.5F, 0.5F, 1000), {1 / 255.0F, 1 / 255.0F, 0}, 1e-6F);
}

TEST(TracerTexture, PngFilesAreReadTopRowFirst) {
  const TemporaryFolder folder;
  const Texture texture = four_texels();
  at::Tensor image = at::empty({2, 2, 3}, at::kByte);
  std::copy(texture.rgb.begin(), texture.rgb.end(), image.data_ptr<uint8_t>());
  io::write_png(folder / "four.png", image);
  const Texture read = read_texture(folder / "four.png");
  EXPECT_EQ(read.width, 2);
  EXPECT_EQ(read.height, 2);
  EXPECT_EQ(read.rgb, texture.rgb);
}

TEST(TracerTexture, JpegFilesAreReadToo) {
  const TemporaryFolder folder;
  const at::Tensor image = at::full({8, 16, 3}, 90, at::kByte);
  write_file(folder / "grey.jpg", io::encode_jpeg(image, 95));
  const Texture read = read_texture(folder / "grey.jpg");
  EXPECT_EQ(read.width, 16);
  EXPECT_EQ(read.height, 8);
  EXPECT_NEAR(read.rgb.at(100), 90, 2);
}

TEST(TracerTexture, BadFilesGiveASentence) {
  const TemporaryFolder folder;
  write_file(folder / "text.png", "this is no picture");
  EXPECT_SENTENCE(read_texture(folder / "text.png"), "text.png: ");
  EXPECT_SENTENCE(read_texture(folder / "none.png"), "none.png: does not exist");
  io::write_png(folder / "whole.png", at::zeros({64, 64, 3}, at::kByte));
  const std::string bytes = testing::read_file(folder / "whole.png");
  write_file(folder / "half.png", bytes.substr(0, bytes.size() / 2));
  EXPECT_SENTENCE(read_texture(folder / "half.png"), "half.png: the PNG picture cannot be read");
}

}  // namespace
}  // namespace lact::data::tracer
