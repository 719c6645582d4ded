#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "lact/data/views/capture.h"
#include "lact/data/views/load_views.h"
#include "lact/data/views/pose.h"
#include "support/errors.h"
#include "support/example_views.h"
#include "support/temporary_folder.h"

namespace lact::data {
namespace {

namespace fs = std::filesystem;
using testing::example;
using testing::expect_same_camera;
using testing::TemporaryFolder;
using testing::write_file;

class Colmap : public ::testing::Test {
 protected:
  Colmap() { fs::copy(example("images"), folder_ / "images"); }
  std::string text_model(const std::string& cameras, const std::string& images) {
    write_file(folder_ / "cameras.txt", cameras);
    write_file(folder_ / "images.txt", images);
    return folder_ / "";
  }
  TemporaryFolder folder_;
};

TEST_F(Colmap, EveryModelByItsParameters) {
  const std::string image = "1 1 0 0 0 0 0 0 1 left.png\n\n";
  const auto view = [&](const std::string& camera) {
    return load_capture(text_model(camera, image)).views[0];
  };
  const View simple = view("1 SIMPLE_RADIAL 8 8 9 3 4 0.1\n");
  EXPECT_EQ(simple.camera.fx, 9);
  EXPECT_EQ(simple.camera.fy, 9);
  EXPECT_EQ(simple.camera.cx, 3);
  EXPECT_EQ(simple.camera.cy, 4);
  EXPECT_EQ(simple.distortion, radial_tangential(0.1, 0, 0, 0, 0, 0));
  EXPECT_EQ(view("1 RADIAL 8 8 9 3 4 0.1 0.2").distortion, radial_tangential(0.1, 0.2, 0, 0, 0, 0));
  const View full = view("1 OPENCV 8 8 9 10 3 4 0.1 0.2 0.3 0.4\r\n");
  EXPECT_EQ(full.camera.fy, 10);
  EXPECT_EQ(full.distortion, radial_tangential(0.1, 0.2, 0, 0, 0.3, 0.4));
  EXPECT_EQ(view("1 OPENCV_FISHEYE 8 8 9 10 3 4 0.1 0.2 0.3 0.4").distortion,
            (Distortion{LensModel::fisheye, 0.1, 0.2, 0.3, 0.4, 0, 0}));
  EXPECT_SENTENCE(
      view("1 FULL_OPENCV 8 8 9 10 3 4 0 0 0 0 0 0 0 0"),
      "cameras.txt, line 1: the camera model is FULL_OPENCV, expected one of SIMPLE_PINHOLE, PINHOLE");
}

TEST_F(Colmap, MistakesOfTheTextAreASentence) {
  const std::string camera = "# one\n1 PINHOLE 8 8 10 10 4 4\n", image = "1 1 0 0 0 0 0 0 1 left.png\n\n";
  EXPECT_EQ(load_capture(text_model(camera, image)).views.size(), 1u);
  EXPECT_SENTENCE(load_capture(text_model("1 PINHOLE 8 8 10 10 4\n", image)), "has 3 parameters, expected 4");
  EXPECT_SENTENCE(load_capture(text_model("1 PINHOLE 8 8 10 x 4 4\n", image)),
                  "a parameter is \"x\", expected a number");
  EXPECT_SENTENCE(load_capture(text_model("1 PINHOLE 8 8 10 nan 4 4\n", image)), "a parameter is nan");
  EXPECT_SENTENCE(load_capture(text_model("1 PINHOLE 8 8 0 10 4 4\n", image)), "the focal length is 0");
  EXPECT_SENTENCE(load_capture(text_model("1 PINHOLE 8 99999 10 10 4 4\n", image)),
                  "expected sides of 1 to 16384");
  EXPECT_SENTENCE(load_capture(text_model("1 PINHOLE\n", image)),
                  "line 1: the line ends where the width was expected");
  EXPECT_SENTENCE(load_capture(text_model(camera, "")), "images.txt: holds no image");
  EXPECT_SENTENCE(load_capture(text_model(camera, "1 1 0 0 0 5\n")),
                  "the line ends where the translation was expected");
  EXPECT_SENTENCE(load_capture(text_model(camera, "1 1 0 0 0 0 0 0 1\n")),
                  "where the image's name was expected");
  EXPECT_SENTENCE(load_capture(text_model(camera, "1 1 0 0 0 0 0 0 2 left.png\n")),
                  "left.png: its camera 2 is not in");
  EXPECT_SENTENCE(load_capture(text_model(camera, "1 2 0 0 0 0 0 0 1 left.png\n")),
                  "a quaternion of length 2, expected 1");
  EXPECT_SENTENCE(load_capture(text_model(camera, "1 1 0 0 0 inf 0 0 1 left.png\n")), "holds inf");
  EXPECT_SENTENCE(load_capture(text_model(camera, "1 1 0 0 0 0 1e300 0 1 left.png\n")),
                  "images.txt: left.png has the position 0 1e+300 0, expected coordinates within 1e+09");
  EXPECT_SENTENCE(load_capture(text_model("1 PINHOLE 8 8 10 1e-30 4 4\n", image)),
                  "the focal length is 1e-30 (fy), expected 0.001 to 1e+08 pixels");
  EXPECT_SENTENCE(load_capture(text_model(camera, "1 1 0 0 0 0 0 0 1 none.png\n")),
                  "1 of 1 images do not exist");
}

TEST_F(Colmap, NamesMayHoldBlanks) {
  fs::rename(folder_ / "images/left.png", folder_ / "images/my photo.png");
  const Capture capture =
      load_capture(text_model("1 PINHOLE 8 8 10 10 4 4\n", "1 1 0 0 0 0 0 0 1 my photo.png\n1 2 -1\n"));
  EXPECT_TRUE(fs::equivalent(capture.views[0].image, folder_ / "images/my photo.png"));
}

TEST_F(Colmap, BinaryFilesThatEndEarlyAreASentence) {
  for (const char* name : {"cameras.bin", "images.bin"}) {
    for (const char* each : {"cameras.bin", "images.bin"})
      write_file(folder_ / each, testing::read_file(example(std::string("colmap_binary/") + each)));
    EXPECT_EQ(load_capture(folder_ / "").views.size(), 3u);
    const std::string whole = testing::read_file(folder_ / name);
    for (size_t length = 0; length < whole.size(); ++length) {
      write_file(folder_ / name, whole.substr(0, length));
      EXPECT_SENTENCE(load_capture(folder_ / ""), std::string(name) + ": the file ends in the middle");
    }
  }
}

TEST_F(Colmap, BinaryCountsAreNotBelieved) {
  write_file(folder_ / "cameras.bin", testing::read_file(example("colmap_binary/cameras.bin")));
  std::string images = testing::read_file(example("colmap_binary/images.bin"));
  images[7] = '\x7f';  // the count of images
  write_file(folder_ / "images.bin", images);
  EXPECT_SENTENCE(load_capture(folder_ / ""), "images.bin: the file ends in the middle");
  images = testing::read_file(example("colmap_binary/images.bin"));
  const size_t points = images.find("right.jpg") + 10;
  images[points + 7] = '\x7f';
  write_file(folder_ / "images.bin", images);
  EXPECT_SENTENCE(load_capture(folder_ / ""), "images.bin: the file ends in the middle");
}

}  // namespace
}  // namespace lact::data
