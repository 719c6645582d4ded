#include "lact/data/views/tracer/obj.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "lact/io/png.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::data::tracer {
namespace {

using testing::TemporaryFolder;
using testing::write_file;

class TracerObj : public ::testing::Test {
 protected:
  MeshData read(const std::string& text) {
    write_file(folder_ / "model.obj", text);
    return read_obj(folder_ / "model.obj");
  }

  TemporaryFolder folder_;
  const std::string square_ = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";
};

TEST_F(TracerObj, ColoursOfVerticesAreKept) {
  const MeshData data =
      read("v 0 0 0\nv 1 0 0 0.5\nv 1 1 0 1 0.5 -2\nv 0 1 0 0 0 1\nv 2 2 0\nf 1 2 3\nf 1 3 4\nf 3 4 5\n");
  ASSERT_EQ(data.colours.size(), 4U);
  const auto colour = [&](size_t face, size_t corner) {
    const int index = data.faces[face].corners[corner].colour;
    const Vec3 found = index < 0 ? Vec3{-1, -1, -1} : data.colours[static_cast<size_t>(index)];
    return std::array<float, 3>{found.x, found.y, found.z};
  };
  EXPECT_EQ(colour(0, 1), (std::array<float, 3>{1, 1, 1}));  // the fourth number is a weight
  EXPECT_EQ(colour(0, 2), (std::array<float, 3>{1, 0.5F, 0}));
  EXPECT_EQ(colour(1, 2), (std::array<float, 3>{0, 0, 1}));
  EXPECT_EQ(data.faces[2].corners[2].colour, -1);
  EXPECT_EQ(data.materials[0].colour.x, 1);
  EXPECT_TRUE(read(square_ + "f 1 2 3\n").colours.empty());
  EXPECT_SENTENCE(read("v 1 1 0 1 red 2\n"), "line 1: colour has 'red', expected a number");
}

TEST_F(TracerObj, AllFormsOfIndicesAreRead) {
  const MeshData data = read(square_ +
                             "vt 0 0\nvt 1 0\nvt 1 1\nvn 0 0 1\n"
                             "f 1 2 3\n"
                             "f 1/1 2/2 3/3\n"
                             "f 1//1 2//1 3//1\n"
                             "f 1/1/1 2/2/1 3/3/1\n"
                             "f -4/-3/-1 -3/-2/-1 -2/-1/-1\n");
  ASSERT_EQ(data.faces.size(), 5U);
  for (const MeshFace& face : data.faces) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(face.corners[static_cast<size_t>(i)].position, i);
  }
  EXPECT_EQ(data.faces[0].corners[2].texture, -1);
  EXPECT_EQ(data.faces[0].corners[2].normal, -1);
  EXPECT_EQ(data.faces[1].corners[2].texture, 2);
  EXPECT_EQ(data.faces[2].corners[2].texture, -1);
  EXPECT_EQ(data.faces[2].corners[2].normal, 0);
  EXPECT_EQ(data.faces[3].corners[1].texture, 1);
  EXPECT_EQ(data.faces[4].corners[0].texture, 0);
  EXPECT_EQ(data.faces[4].corners[1].position, 1);
}

TEST_F(TracerObj, PolygonsBecomeFans) {
  const MeshData data = read(square_ + "v 0 2 0\nf 1 2 3 4 5\n");
  ASSERT_EQ(data.faces.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(data.faces[static_cast<size_t>(i)].corners[0].position, 0);
    EXPECT_EQ(data.faces[static_cast<size_t>(i)].corners[1].position, i + 1);
    EXPECT_EQ(data.faces[static_cast<size_t>(i)].corners[2].position, i + 2);
  }
}

TEST_F(TracerObj, NegativeIndicesCountBackFromTheirLine) {
  const MeshData data =
      read("v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nv 5 5 5\nv 6 5 5\nv 5 6 5\nf -3 -2 -1\n");
  EXPECT_EQ(data.faces[0].corners[0].position, 0);
  EXPECT_EQ(data.faces[1].corners[0].position, 3);
}

TEST_F(TracerObj, CommentsWindowsLinesAndOtherStatementsArePassedOver) {
  const MeshData data = read(
      "# made by hand\r\no thing\r\ng group\r\ns off\r\n\r\n\tv 0 0 0 1.0 # a vertex\r\nv +1.5e0 0 0\r\nv 0 "
      "1 0\r\n"
      "vt 0.5\r\nl 1 2\r\nf 1/1 2/1 3/1");
  ASSERT_EQ(data.faces.size(), 1U);
  EXPECT_EQ(data.positions[1].x, 1.5);
  EXPECT_EQ(data.texture_points[0][1], 0);
}

TEST_F(TracerObj, MaterialsGiveColoursAndTextures) {
  at::Tensor image = at::zeros({1, 2, 3}, at::kByte);
  image[0][1].fill_(200);
  std::filesystem::create_directory(folder_ / "maps");
  io::write_png(folder_ / "maps/my texture.png", image);
  write_file(folder_ / "my materials.mtl",
             "newmtl red\nKa 1 1 1\nKd 0.9 0.1 2\nnewmtl painted\nKd 1 1 1\nmap_Kd maps\\my texture.png\n");
  const MeshData data =
      read("mtllib my materials.mtl\n" + square_ +
           "f 1 2 3\nusemtl red\nf 1 2 3\nusemtl painted\nf 1 2 3\nusemtl unknown\nf 1 2 3\n");
  ASSERT_EQ(data.materials.size(), 3U);
  EXPECT_EQ(data.faces[0].material, 0);
  EXPECT_EQ(data.materials[static_cast<size_t>(data.faces[1].material)].name, "red");
  EXPECT_FLOAT_EQ(data.materials[1].colour.x, 0.9F);
  EXPECT_FLOAT_EQ(data.materials[1].colour.z, 1.0F) << "colours end at 1";
  const auto texture = data.materials[static_cast<size_t>(data.faces[2].material)].texture;
  ASSERT_NE(texture, nullptr);
  EXPECT_EQ(texture->full().width, 2);
  EXPECT_EQ(data.faces[3].material, 0);
}

TEST_F(TracerObj, TheShapeIsReadWithoutItsMaterialFile) {
  const MeshData data = read("mtllib gone.mtl\nusemtl red\n" + square_ + "f 1 2 3\n");
  EXPECT_EQ(data.materials.size(), 1U);
}

TEST_F(TracerObj, MaterialsAreReadOnceAndFoundByName) {
  std::string library, uses;
  for (int i = 0; i < 20'000; ++i) {
    library += "newmtl m" + std::to_string(i) + "\nKd 0 0 0\n";
    uses += "mtllib m.mtl\nusemtl m" + std::to_string(19'999 - i) + "\nf 1 2 3\n";
  }
  write_file(folder_ / "m.mtl", library + "newmtl m7\nKd 1 1 1\n");
  const MeshData data = read(square_ + uses);
  EXPECT_EQ(data.materials.size(), 20'002U);
  EXPECT_EQ(data.faces.at(0).material, 20'000);
  EXPECT_EQ(data.faces.at(19'992).material, 8) << "the first of a name counts";
}

TEST_F(TracerObj, TexturesThatTakeTooMuchTogetherAreASentence) {
  std::string library;
  for (const std::string name : {"a", "b", "c"}) {
    io::write_png(folder_ / (name + ".png"), at::zeros({10, 20}, at::kByte));
    library += "newmtl " + name + "\nmap_Kd " + name + ".png\nnewmtl again\nmap_Kd " + name + ".png\n";
  }
  write_file(folder_ / "m.mtl", library);
  EXPECT_EQ(read_mtl(folder_ / "m.mtl", 600).size(), 6U);
  EXPECT_SENTENCE(read_mtl(folder_ / "m.mtl", 599),
                  "c.png: with it the textures have 600 pixels together, expected at most 599");
}

TEST_F(TracerObj, MistakesNameTheLine) {
  EXPECT_SENTENCE(read("v 0 0\n"), "model.obj: line 1: vertex has too few numbers");
  EXPECT_SENTENCE(read("v 0 0 0\nv 0 x 0\n"), "model.obj: line 2: vertex has 'x', expected a number");
  EXPECT_SENTENCE(read("v 0 0 nan\n"), "line 1: vertex has 'nan'");
  EXPECT_SENTENCE(read("v 0 0 1e99\n"), "line 1: vertex has '1e99'");
  EXPECT_SENTENCE(read("vt\n"), "line 1: texture coordinate has too few numbers");
  EXPECT_SENTENCE(read(square_ + "f 1 2\n"), "line 5: face has 2 corners, expected at least 3");
  EXPECT_SENTENCE(read(square_ + "f 1 2 5\n"), "line 5: face refers to vertex 5, but 4 were given before it");
  EXPECT_SENTENCE(read(square_ + "f 1 2 0\n"), "line 5: face refers to vertex 0");
  EXPECT_SENTENCE(read(square_ + "f 1 2 -5\n"), "line 5: face refers to vertex -5");
  EXPECT_SENTENCE(read(square_ + "f 1/1 2 3\n"),
                  "line 5: face refers to texture coordinate 1, but 0 were given");
  EXPECT_SENTENCE(read(square_ + "f 1//2 2 3\n"), "line 5: face refers to normal 2");
  EXPECT_SENTENCE(read(square_ + "f a b c\n"), "line 5: face has a vertex index that is not a whole number");
  EXPECT_SENTENCE(read(square_ + "f 99999999999999999999 1 2\n"), "line 5: face has a vertex index");
  EXPECT_SENTENCE(read(square_ + "f 1/////2 2 3\n"), "line 5");
  std::string corners;
  for (int i = 0; i < 1 << 16; ++i) corners += i % 2 == 0 ? " 1" : " 2";
  EXPECT_EQ(read(square_ + "f" + corners + "\n").faces.size(), (1U << 16) - 2);
  EXPECT_SENTENCE(read(square_ + "f" + corners + " 3\n"), "line 5: face has more than 65536 corners");
  EXPECT_SENTENCE(read(square_), "model.obj: the file holds no faces");
  EXPECT_SENTENCE(read(""), "model.obj: the file holds no faces");
  EXPECT_SENTENCE(read_obj(folder_ / "none.obj"), "none.obj: does not exist");
}

TEST_F(TracerObj, MistakesInMaterialsNameTheirFile) {
  write_file(folder_ / "m.mtl", "Kd 1 1 1\n");
  EXPECT_SENTENCE(read("mtllib m.mtl\n"), "m.mtl: line 1: Kd comes before any newmtl");
  write_file(folder_ / "m.mtl", "newmtl a\nmap_Kd gone.png\n");
  EXPECT_SENTENCE(read("mtllib m.mtl\n"), "gone.png: does not exist");
  write_file(folder_ / "m.mtl", "newmtl a\nmap_Kd\n");
  EXPECT_SENTENCE(read("mtllib m.mtl\n"), "m.mtl: line 2: map_Kd names no file");
}

}  // namespace
}  // namespace lact::data::tracer
