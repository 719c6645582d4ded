// Photos as people have them: turned, grey, of 16 bits, transparent, masked, of several sizes, broken.
#include "lact/data/views/load_views.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <filesystem>

#include "lact/base/options.h"
#include "lact/data/views/frame_choice.h"
#include "lact/io/exif.h"
#include "lact/io/jpeg.h"
#include "lact/io/png.h"
#include "support/errors.h"
#include "support/exif_jpeg.h"
#include "support/temporary_folder.h"

namespace lact::data {
namespace {

namespace fs = std::filesystem;
using options::Json;
using testing::write_file;

/// Red grows to the right, green downwards.
at::Tensor slopes(int64_t height, int64_t width) {
  const at::Tensor red =
      (at::arange(width, at::kFloat) * 255 / (width - 1)).view({1, width}).expand({height, width});
  const at::Tensor green =
      (at::arange(height, at::kFloat) * 255 / (height - 1)).view({height, 1}).expand({height, width});
  return at::stack({red, green, at::full({height, width}, 60.f)}, 2).to(at::kByte);
}

/// A PNG of 16 bits for each of `channels`: grey, grey and alpha, colour, or colour and alpha.
std::string png_of_16_bits(int64_t height, int64_t width, int channels, uint16_t value, uint16_t alpha) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = png_uint_32(width), png.height = png_uint_32(height);
  png.format = channels == 1   ? PNG_FORMAT_LINEAR_Y
               : channels == 2 ? PNG_FORMAT_LINEAR_Y_ALPHA
               : channels == 3 ? PNG_FORMAT_LINEAR_RGB
                               : PNG_FORMAT_LINEAR_RGB_ALPHA;
  std::vector<uint16_t> pixels;
  for (int64_t i = 0; i < height * width; ++i)
    for (int c = 0; c < channels; ++c)
      pixels.push_back(c + 1 == channels && channels % 2 == 0 ? alpha
                                                              : uint16_t(uint32_t(value) * alpha / 65535));
  std::string bytes(1 << 16, '\0');
  png_alloc_size_t size = bytes.size();
  EXPECT_TRUE(png_image_write_to_memory(&png, bytes.data(), &size, 0, pixels.data(), 0, nullptr))
      << png.message;
  return bytes.substr(0, size);
}

/// A transforms.json of one camera of 32 x 24 pixels for each photo that a test adds.
class BadPhotos : public ::testing::Test {
 protected:
  BadPhotos() {
    json_ = {
        {"w", 32}, {"h", 24}, {"fl_x", 30}, {"fl_y", 30}, {"cx", 15}, {"cy", 10}, {"frames", Json::array()}};
  }
  Json& add(const std::string& name, const std::string& bytes) {
    write_file(folder_ / name, bytes);
    json_["frames"].push_back(
        {{"file_path", name},
         {"transform_matrix",
          {{1, 0, 0, double(json_["frames"].size())}, {0, 1, 0, 0}, {0, 0, 1, 3}, {0, 0, 0, 1}}}});
    return json_["frames"].back();
  }
  Json& add(const std::string& name, const at::Tensor& image) {
    io::write_png(folder_ / name, image);
    return add(name, testing::read_file(folder_ / name));
  }
  Capture load(const CaptureOptions& options = {}) {
    write_file(folder_ / "transforms.json", json_.dump());
    return load_capture(folder_ / "transforms.json", options);
  }
  PosedImages pictures(int64_t height = 24, int64_t width = 32) {
    const Capture capture = load();
    std::vector<int64_t> all(capture.views.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = int64_t(i);
    return load_views(capture, all, height, width);
  }
  /// The mean colour of a picture, 0 to 255.
  static std::vector<double> mean(const at::Tensor& image) {
    const at::Tensor colour = image.mean(at::IntArrayRef{1, 2}) * 255;
    return {colour[0].item<double>(), colour[1].item<double>(), colour[2].item<double>()};
  }

  testing::TemporaryFolder folder_;
  Json json_;
};

TEST_F(BadPhotos, UnreadableOnesAreASentenceThatNamesTheFile) {
  const std::string jpeg = io::encode_jpeg(slopes(24, 32));
  add("good.jpg", jpeg);
  add("cut.jpg", jpeg.substr(0, jpeg.size() / 2));
  EXPECT_SENTENCE(pictures(), "cut.jpg: the JPEG picture cannot be read: ");
  json_["frames"].erase(1);
  add("text.jpg", std::string("no picture"));
  EXPECT_SENTENCE(pictures(), "text.jpg: is neither a PNG nor a JPEG picture");
  json_["frames"].erase(1);
  add("empty.png", std::string());
  EXPECT_SENTENCE(pictures(), "empty.png: the file is empty");
}

TEST_F(BadPhotos, PhotosAreTurnedWhereTheirCameraIsForTheUprightOne) {
  const at::Tensor seen = slopes(24, 32);
  // What a camera held upright stores: 32 rows of 24, to be turned clockwise.
  const at::Tensor stored = seen.flip(1).transpose(0, 1).contiguous();
  ASSERT_TRUE(at::equal(io::upright(stored, 6), seen));
  add("turned.jpg", testing::exif_jpeg(stored, 6));
  add("upright.jpg", testing::exif_jpeg(seen, 1));
  const PosedImages both = pictures();
  EXPECT_LT((both.images[0] - both.images[1]).abs().mean().item<double>(), 0.02);
  EXPECT_EQ(both.cameras[0].fx, both.cameras[1].fx);
  EXPECT_EQ(both.cameras[0].cx, 15);
  // As COLMAP does, a photo is taken as it is stored where the camera is for that.
  json_["frames"].erase(1);
  json_["w"] = 24;
  json_["h"] = 32;
  const at::Tensor as_stored = pictures(32, 24).images[0];
  const at::Tensor expected = stored.permute({2, 0, 1}).to(at::kFloat) / 255;
  EXPECT_LT((as_stored - expected).abs().mean().item<double>(), 0.02);
  // Neither way.
  json_["w"] = 40;
  json_["h"] = 24;
  EXPECT_SENTENCE(pictures(), "turned.jpg: the picture is 24 x 32 pixels, but its camera is for 40 x 24");
}

TEST_F(BadPhotos, GreyPhotosAreColourPhotosWithoutColour) {
  add("grey.png", at::full({24, 32}, 77, at::kByte));
  EXPECT_THAT(mean(pictures().images[0]), ::testing::Each(::testing::DoubleNear(77, 0.01)));
}

TEST_F(BadPhotos, SixteenBitsBecomeEight) {
  json_["frames"] = Json::array();
  for (const int channels : {1, 2, 3, 4})
    add(fmt::format("{}.png", channels), png_of_16_bits(24, 32, channels, 40000, 65535));
  const PosedImages all = pictures();
  for (const auto& image : all.images) {
    EXPECT_EQ(image.sizes(), (std::vector<int64_t>{3, 24, 32}));
    EXPECT_THAT(mean(image), ::testing::Each(::testing::DoubleNear(40000 / 257.0, 0.51)));
  }
}

TEST_F(BadPhotos, WhatIsTransparentIsWhite) {
  at::Tensor image = at::cat({slopes(24, 32), at::full({24, 32, 1}, 255, at::kByte)}, 2);
  image.slice(1, 0, 16).select(2, 3).fill_(0);
  add("cut_out.png", image);
  add("clear.png", png_of_16_bits(24, 32, 2, 40000, 0));
  const PosedImages both = pictures();
  EXPECT_EQ(both.images[0].slice(2, 0, 16).min().item<float>(), 1);
  EXPECT_LT(both.images[0].slice(2, 16, 32).select(0, 2).max().item<float>(), 0.3);
  EXPECT_EQ(both.images[1].min().item<float>(), 1);
}

TEST_F(BadPhotos, WhatAMaskHidesIsWhite) {
  at::Tensor mask = at::zeros({24, 32}, at::kByte);
  mask.slice(0, 0, 12).fill_(1);  // any value but black
  io::write_png(folder_ / "mask.png", mask);
  add("a.png", slopes(24, 32))["mask_path"] = "mask.png";
  add("b.png", slopes(24, 32));
  const PosedImages both = pictures();
  EXPECT_EQ(both.images[0].slice(1, 12, 24).min().item<float>(), 1);
  EXPECT_TRUE(at::equal(both.images[0].slice(1, 0, 12), both.images[1].slice(1, 0, 12)));
  json_["frames"][0]["mask_path"] = "none.png";
  EXPECT_SENTENCE(load(), "transforms.json: the mask " + folder_ / "none.png of " + folder_ / "a.png");
  json_["frames"][0]["mask_path"] = 7;
  EXPECT_SENTENCE(load(), "frames.0.mask_path is 7, expected a string");
  io::write_png(folder_ / "small.png", at::zeros({12, 16}, at::kByte));
  json_["frames"][0]["mask_path"] = "small.png";
  EXPECT_SENTENCE(pictures(), "small.png: the mask is 16 x 12 pixels, but " + folder_ / "a.png is 32 x 24");
}

TEST_F(BadPhotos, TwoSizesInOneCaptureAreTwoCameras) {
  add("large.png", slopes(48, 64));
  add("own.png", slopes(20, 20))
      .update({{"w", 20}, {"h", 20}, {"fl_x", 25}, {"fl_y", 25}, {"cx", 10}, {"cy", 10}});
  const PosedImages both = pictures(8, 8);
  EXPECT_NEAR(both.cameras[0].fx, 30 * 8 / 24.0, 1e-9);
  EXPECT_NEAR(both.cameras[1].fx, 25 * 8 / 20.0, 1e-9);
  // Focal lengths in pixels of pictures that nothing is said about.
  json_["frames"].erase(1);
  json_.erase("w");
  json_.erase("h");
  EXPECT_EQ(load().views.size(), 1u);
  add("other.png", slopes(20, 20));
  EXPECT_SENTENCE(load(),
                  "transforms.json: fl_x is for all frames and w and h are not stated, but large.png has "
                  "64 x 48 pixels and other.png has 20 x 20");
  json_.erase("fl_x");
  json_.erase("fl_y");
  json_["camera_angle_x"] = 0.9;  // an angle is of any size
  EXPECT_EQ(load().views.size(), 2u);
}

TEST_F(BadPhotos, CamerasWithoutAPhotoAreNamedOrLeftOut) {
  add("a.png", slopes(24, 32));
  add("gone.png", std::string("x"));
  fs::remove(folder_ / "gone.png");
  EXPECT_SENTENCE(load(), "1 of 2 images do not exist, the first is " + folder_ / "gone.png");
  EXPECT_EQ(load({.skip_missing = true}).views.size(), 1u);
}

TEST_F(BadPhotos, OnePhotoHasEveryFrame) {
  add("a.png", slopes(24, 32));
  const auto cameras = pictures().cameras;
  for (const FrameChoice choice : {FrameChoice::given, FrameChoice::mean_pose, FrameChoice::object}) {
    const Camera moved = to_scene(scene_frame(cameras, choice), cameras[0]);
    for (const auto& row : moved.camera_to_world)
      for (const double value : row) EXPECT_TRUE(std::isfinite(value)) << options::word_of(choice);
  }
}

TEST_F(BadPhotos, LensesThatAreNotKnownAreNamed) {
  add("a.png", slopes(24, 32));
  const Json good = json_;
  const auto refused = [&](const char* field, const Json& value, const std::string& sentence) {
    json_ = good;
    json_["frames"][0][field] = value;
    EXPECT_SENTENCE(load(), sentence);
  };
  refused("k5", 0.1, "frames.0.k5 is 0.1, expected none");
  refused("equirectangular", true, "frames.0.equirectangular is true, expected false");
  refused("is_fisheye", 1, "frames.0.is_fisheye is 1, expected true or false");
  refused("camera_model", "FISHEYE624",
          "frames.0.camera_model is \"FISHEYE624\", expected OPENCV_FISHEYE or");
  json_ = good;
  json_["is_fisheye"] = true;
  json_["k1"] = 0.02;
  EXPECT_EQ(load().views[0].distortion.model, LensModel::fisheye);
}

}  // namespace
}  // namespace lact::data
