#include "lact/data/views/tracer/ply.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "lact/io/png.h"
#include "support/damage.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::data::tracer {
namespace {

using testing::write_file;

std::string ply_header(const std::string& format, const std::string& rest) {
  return "ply\nformat " + format + " 1.0\ncomment made by hand\n" + rest + "end_header\n";
}

const std::string kSquareElements =
    "element vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
    "property uchar red\nproperty uchar green\nproperty uchar blue\n"
    "element face 1\nproperty list uchar int vertex_indices\n";
const std::string kThreePlaces = "element vertex 3\nproperty float x\nproperty float y\nproperty float z\n";
const std::string kSquareText = "0 0 0 255 0 0\n1 0 0 0 255 0\n1 1 0 0 0 255\n0 1 0 51 51 51\n4 0 1 2 3\n";

/// The same as bytes.
std::string square_bytes(bool big) {
  std::string bytes;
  const auto add = [&](auto value) {
    std::string raw(reinterpret_cast<const char*>(&value), sizeof(value));
    if (big) std::reverse(raw.begin(), raw.end());
    bytes += raw;
  };
  const float places[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
  const uint8_t colours[4][3] = {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {51, 51, 51}};
  for (int i = 0; i < 4; ++i) {
    add(places[i][0]), add(places[i][1]), add(0.0F);
    for (const uint8_t colour : colours[i]) add(colour);
  }
  add(uint8_t{4});
  for (int32_t i = 0; i < 4; ++i) add(i);
  return bytes;
}

class TracerPly : public ::testing::Test {
 protected:
  MeshData read(const std::string& bytes) {
    write_file(folder_ / "a.ply", bytes);
    return read_ply(folder_ / "a.ply");
  }

  testing::TemporaryFolder folder_;
};

TEST_F(TracerPly, TextAndBytesOfBothOrdersAreTheSameSquare) {
  for (const std::string& file : {ply_header("ascii", kSquareElements) + kSquareText,
                                  ply_header("binary_little_endian", kSquareElements) + square_bytes(false),
                                  ply_header("binary_big_endian", kSquareElements) + square_bytes(true)}) {
    const MeshData data = read(file);
    ASSERT_EQ(data.positions.size(), 4U);
    ASSERT_EQ(data.faces.size(), 2U);
    EXPECT_EQ(data.positions[2].x, 1);
    EXPECT_EQ(data.positions[3].y, 1);
    EXPECT_EQ(data.faces[1].corners[1].position, 2);
    EXPECT_EQ(data.faces[1].corners[2].colour, 3);
    EXPECT_NEAR(data.colours[3].x, 0.2F, 1e-6F);
    EXPECT_EQ(data.colours[1].y, 1);
    EXPECT_EQ(data.materials[0].colour.x, 1);
    EXPECT_FALSE(data.up.has_value());
    EXPECT_TRUE(make_mesh(data, "a")->coloured);
  }
}

TEST_F(TracerPly, OtherElementsAndPropertiesArePassedOver) {
  const MeshData data =
      read(ply_header("ascii",
                      "element camera 2\nproperty float f\nproperty list uchar float k\n"
                      "element vertex 3\nproperty double z\nproperty float nx\nproperty float ny\n"
                      "property float nz\nproperty double x\nproperty list uchar int around\n"
                      "property double y\nelement face 1\nproperty uchar flags\n"
                      "property list uint8 uint32 vertex_index\n") +
           "5 2 1 1\n6 0\n3 0 0 1 1 0 2\n4 0 0 1 1 2 7 8 2\n5 0 1 0 9 0 2\n255 3 2 1 0\n");
  EXPECT_EQ(data.positions[2].x, 9);
  EXPECT_EQ(data.positions[1].z, 4);
  EXPECT_EQ(data.normals[2].y, 1);
  EXPECT_EQ(data.faces[0].corners[0].position, 2);
  EXPECT_EQ(data.faces[0].corners[0].normal, 2);
  EXPECT_TRUE(data.colours.empty());
}

TEST_F(TracerPly, ATextureIsNamedInAComment) {
  io::write_png(folder_ / "skin.png", at::zeros({2, 4, 3}, at::kByte));
  const std::string faces = "element face 1\nproperty list uchar int vertex_indices\n";
  const std::string of_faces = kThreePlaces + faces + "property list uchar float texcoord\n";
  const MeshData data = read(ply_header("ascii", "comment TextureFile skin.png\n" + of_faces) +
                             "0 0 0\n1 0 0\n0 1 0\n3 0 1 2 6 0 0 1 0 0.5 1\n");
  ASSERT_TRUE(data.materials[0].texture);
  EXPECT_EQ(data.materials[0].texture->full().width, 4);
  EXPECT_EQ(data.texture_points[static_cast<size_t>(data.faces[0].corners[2].texture)],
            (std::array<float, 2>{0.5F, 1}));
  const MeshData vertices = read(ply_header("ascii", "comment TextureFile skin.png\n" + kThreePlaces +
                                                         "property float s\nproperty float t\n" + faces) +
                                 "0 0 0 0 0\n1 0 0 1 0\n0 1 0 0.25 1\n3 0 1 2\n");
  EXPECT_EQ(vertices.texture_points[static_cast<size_t>(vertices.faces[0].corners[2].texture)][0], 0.25F);
  EXPECT_SENTENCE(read(ply_header("ascii", "comment TextureFile none.png\n" + kSquareElements) + kSquareText),
                  "none.png: does not exist");
}

TEST_F(TracerPly, MistakesAreASentence) {
  const auto text = [&](const std::string& elements, const std::string& body) {
    return read(ply_header("ascii", elements) + body);
  };
  EXPECT_SENTENCE(read("solid cube"), "a.ply: does not begin with the line ply");
  EXPECT_SENTENCE(read("ply\nformat ascii 1.0\n"), "the header has no end_header");
  EXPECT_SENTENCE(read("ply\nelement vertex 1\nend_header\n"), "the header has no format");
  EXPECT_SENTENCE(read(ply_header("binary", kSquareElements)), "the format is \"binary\"");
  EXPECT_SENTENCE(text("element vertex 3\nproperty float x\n", "1\n2\n3\n"), "the file holds no faces");
  EXPECT_SENTENCE(text("element vertex 4000000000\nproperty float x\n", ""), "expected at most 20000000");
  EXPECT_SENTENCE(text("element vertex -1\n", ""), "a name and a whole number");
  EXPECT_SENTENCE(text("element vertex 1\nproperty quad x\n", ""), "a property has the type \"quad\"");
  EXPECT_SENTENCE(text("property float x\n", ""), "a property comes before any element");
  EXPECT_SENTENCE(read(ply_header("binary_little_endian", "element vertex 9000000\nproperty float x\n")),
                  "its elements take at least 36000000 bytes, but 0 are left");
  EXPECT_SENTENCE(
      text(kSquareElements, "0 0 0 255 0 0\n1 0 0 0 255 0\n1 1 0 0 0 255\n0 1 0 51 51 51\n4 0 1 2 4\n"),
      "vertex_indices has 4, expected a whole number from 0 to 3");
  EXPECT_SENTENCE(
      text(kSquareElements, "0 0 0 255 0 0\n1 0 0 0 255 0\n1 1 0 0 0 255\n0 1 0 51 51 51\n2 0 1 2\n"),
      "a face has 2 corners");
  EXPECT_SENTENCE(
      text(kSquareElements, "0 0 nan 255 0 0\n1 0 0 0 255 0\n1 1 0 0 0 255\n0 1 0 51 51 51\n4 0 1 2 3"),
      "z has nan");
  EXPECT_SENTENCE(
      text(kSquareElements, "0 0 red 255 0 0\n1 0 0 0 255 0\n1 1 0 0 0 255\n0 1 0 51 51 51\n4 0 1 2 3"),
      "z has \"red\", expected a number");
  EXPECT_SENTENCE(text("element face 1\nproperty list uchar int vertex_indices\n" + kThreePlaces,
                       "3 0 1 2\n0 0 0\n1 0 0\n0 1 0\n"),
                  "faces come before vertices");
}

TEST_F(TracerPly, DamagedFilesAreMeshesOrSentences) {
  for (const std::string& file : {ply_header("ascii", kSquareElements) + kSquareText,
                                  ply_header("binary_little_endian", kSquareElements) + square_bytes(false)})
    testing::expect_values_or_sentences(file, 1000,
                                        [&](const std::string& bytes) { make_mesh(read(bytes), "a.ply"); });
}

}  // namespace
}  // namespace lact::data::tracer
