// Points that lie with a capture.
#include "lact/data/views/points.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "support/errors.h"
#include "support/photo_folder.h"

namespace lact::data {
namespace {

namespace fs = std::filesystem;
using lact::testing::TemporaryFolder;
using lact::testing::write_file;
using lact::testing::write_photo_folder;

template <class Number>
void put(std::string& bytes, Number value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// One point at (1, 2, 3) that is orange, with two sightings.
std::string binary_points(uint64_t count = 1, uint64_t sightings = 2) {
  std::string bytes;
  put(bytes, count);
  put(bytes, uint64_t(7));
  for (const double value : {1.0, 2.0, 3.0}) put(bytes, value);
  for (const uint8_t value : {255, 128, 0}) put(bytes, value);
  put(bytes, 0.5);
  put(bytes, sightings);
  for (int i = 0; i < 4; ++i) put(bytes, int32_t(i));
  return bytes;
}

class Points : public ::testing::Test {
 protected:
  void expect_orange(const ScenePoints& points) {
    ASSERT_EQ(points.places.size(), 1u);
    EXPECT_EQ(points.places[0], (Point{1, 2, 3}));
    EXPECT_EQ(points.colours[0], (Point{1, 128.0 / 255, 0}));
  }
  std::string file(const std::string& name, const std::string& content) {
    write_file(folder_ / name, content);
    return folder_ / name;
  }
  TemporaryFolder folder_;
};

TEST_F(Points, AreReadInEveryForm) {
  expect_orange(read_points(file("points3D.bin", binary_points())));
  expect_orange(read_points(file("points3D.txt", "# a comment\n7 1 2 3 255 128 0 0.5 1 2 3 4\n")));
  const std::string header =
      "ply\nformat ascii 1.0\nelement vertex 1\nproperty uchar blue\nproperty float x\n"
      "property float y\nproperty float z\nproperty uchar red\nproperty uchar green\n"
      "end_header\n";
  expect_orange(read_points(file("a.ply", header + "0 1 2 3 255 128\n")));
  const auto grey = read_points(
      file("b.ply",
           "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty "
           "float z\nend_header\n4 5 6\n"));
  EXPECT_EQ(grey.colours[0], (Point{0.5, 0.5, 0.5}));
}

TEST_F(Points, DamageIsASentence) {
  EXPECT_SENTENCE(read_points(file("a.bin", binary_points(2))), "the file ends in the middle");
  EXPECT_SENTENCE(read_points(file("b.bin", binary_points(1, uint64_t(1) << 61))),
                  "the file ends in the middle of");
  EXPECT_SENTENCE(read_points(file("a.txt", "7 1 2 x 0 0 0 0\n")), "line 1: the place is \"x\"");
  EXPECT_SENTENCE(read_points(file("b.txt", "7 1 2 3 256 0 0 0\n")), "the colour is 256");
  EXPECT_SENTENCE(read_points(file("c.txt", "7 1 nan 3 25 0 0 0\n")), "expected a number below 1e18");
  EXPECT_SENTENCE(read_points(file("a.obj", "")), "expected points as .ply");
  EXPECT_SENTENCE(read_points(file("c.ply",
                                   "ply\nformat ascii 1.0\nelement face 0\nproperty list uchar int "
                                   "vertex_indices\nend_header\n")),
                  "no element vertex with x, y, z");
}

TEST_F(Points, AreThoseOfTheCapture) {
  const std::string photos = folder_ / "photos";
  write_photo_folder(photos, 3, 8, 8);
  const Capture capture = load_capture(photos);
  EXPECT_TRUE(points_of(capture).places.empty());
  fs::create_directories(photos + "/sparse/0");
  write_file(photos + "/sparse/0/points3D.bin", binary_points());
  expect_orange(points_of(capture));
  // A COLMAP model of the same photos, in its own coordinates: its points would be somewhere else.
  write_file(photos + "/sparse/0/cameras.txt", "1 PINHOLE 8 8 9 9 4 4\n");
  write_file(photos + "/sparse/0/images.txt",
             "1 1 0 0 0 900 0 0 1 view_0.png\n\n2 1 0 0 0 800 0 0 1 view_1.png\n\n");
  EXPECT_TRUE(points_of(capture).places.empty());
}

}  // namespace
}  // namespace lact::data
