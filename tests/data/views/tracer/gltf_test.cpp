#include "lact/data/views/tracer/gltf.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "data/views/tracer/glb.h"
#include "lact/io/png.h"
#include "support/damage.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::data::tracer {
namespace {

using testing::write_file;
using testing_glb::Glb;
using testing_glb::GltfJson;
using testing_glb::square_glb;

class TracerGltf : public ::testing::Test {
 protected:
  MeshData read(const std::string& bytes, const std::string& name = "a.glb") {
    write_file(folder_ / name, bytes);
    return read_gltf(folder_ / name);
  }
  MeshData read(const Glb& glb) { return read(glb.bytes()); }
  /// A picture of two pixels, red and blue, side by side.
  std::string picture() {
    const at::Tensor pixels = at::tensor({255, 0, 0, 0, 0, 255}).to(at::kByte).reshape({1, 2, 3});
    io::write_png(folder_ / "my picture.png", pixels);
    return testing::read_file(folder_ / "my picture.png");
  }
  Glb textured() {
    Glb glb = square_glb();
    glb.primitive()["attributes"]["TEXCOORD_0"] = glb.add<float>({0, 1, 1, 1, 1, 0, 0, 0.25F}, "VEC2", 5126);
    glb.primitive()["material"] = 0;
    glb.json["materials"] = {{{"pbrMetallicRoughness", {{"baseColorTexture", {{"index", 0}}}}}}};
    glb.json["textures"] = {{{"source", 0}}};
    return glb;
  }

  testing::TemporaryFolder folder_;
};

void expect_place(const Vec<double>& found, double x, double y, double z) {
  EXPECT_NEAR(found.x, x, 1e-6);
  EXPECT_NEAR(found.y, y, 1e-6);
  EXPECT_NEAR(found.z, z, 1e-6);
}

TEST_F(TracerGltf, ASquareHasTwoTriangles) {
  const MeshData data = read(square_glb());
  ASSERT_EQ(data.positions.size(), 4U);
  ASSERT_EQ(data.faces.size(), 2U);
  EXPECT_EQ(data.up, Up::kY);
  expect_place(data.positions[2], 1, 1, 0);
  EXPECT_EQ(data.faces[1].corners[2].position, 3);
  EXPECT_EQ(data.faces[0].corners[0].normal, -1);
  EXPECT_EQ(data.faces[0].corners[0].colour, -1);
}

TEST_F(TracerGltf, NodesMoveTurnAndScale) {
  Glb glb = square_glb();
  glb.primitive()["attributes"]["NORMAL"] =
      glb.add<float>({0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 0, 1}, "VEC3", 5126);
  const double half = std::sqrt(0.5);
  // Scaled, turned by 90 degrees about x (y becomes z), moved; below a node that is a matrix.
  glb.json["nodes"] = {
      {{"matrix", {2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 100, 0, 0, 1}}, {"children", {1}}},
      {{"mesh", 0}, {"scale", {1, 3, 1}}, {"rotation", {half, 0, 0, half}}, {"translation", {10, 20, 30}}}};
  const MeshData data = read(glb);
  expect_place(data.positions[2], 2 * (1 + 10) + 100, 20, 3 + 30);
  const Vec3 normal = data.normals[3];  // (1, 0, 1) -> across the stretched x less, z to -y
  EXPECT_NEAR(normal.x / normal.y, -0.5, 1e-5);
  EXPECT_NEAR(normal.z, 0, 1e-6);
  EXPECT_NEAR(length(normal), 1, 1e-5);
}

TEST_F(TracerGltf, TexturesComeFromABufferAFileOrTheTextItself) {
  const std::string png = picture();
  Glb inside = textured();
  inside.json["images"] = {{{"bufferView", inside.add_bytes(png)}, {"mimeType", "image/png"}}};
  Glb beside = textured();
  beside.json["images"] = {{{"uri", "my%20picture.png"}}};
  for (const Glb& glb : {inside, beside}) {
    const MeshData data = read(glb);
    const MeshCorner& corner = data.faces[1].corners[2];  // vertex 3
    const auto& material = data.materials[static_cast<size_t>(data.faces[1].material)];
    ASSERT_TRUE(material.texture);
    EXPECT_EQ(material.texture->full().width, 2);
    EXPECT_EQ(data.texture_points[static_cast<size_t>(corner.texture)][1], 0.75F);  // counted upwards
    EXPECT_EQ(corner.colour, -1);
  }
  inside.json["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"] = {0.25, 1, 0, 1};
  const MeshData tinted = read(inside);
  const auto colour = tinted.colours.at(static_cast<size_t>(tinted.faces[0].corners[1].colour));
  EXPECT_NEAR(colour.x, 0.5, 1e-6);  // of linear light; shown with a gamma of 2
  EXPECT_EQ(colour.z, 0);
}

TEST_F(TracerGltf, BuffersComeFromAFileOrTheTextItself) {
  const Glb glb = square_glb();
  GltfJson json = glb.json;
  json["buffers"] = {{{"byteLength", glb.bin.size()}, {"uri", "data.bin"}}};
  write_file(folder_ / "data.bin", glb.bin);
  EXPECT_EQ(read(json.dump(), "a.gltf").faces.size(), 2U);
  // The same as text: base64 of 60 bytes needs no padding.
  ASSERT_EQ(glb.bin.size(), 60U);
  const char* const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text = "data:application/octet-stream;base64,";
  for (size_t i = 0; i < glb.bin.size(); i += 3) {
    const auto byte = [&](size_t k) { return uint32_t(uint8_t(glb.bin[i + k])); };
    const uint32_t three = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (const int shift : {18, 12, 6, 0}) text += letters[three >> shift & 63];
  }
  json["buffers"][0]["uri"] = text;
  expect_place(read(json.dump(), "a.gltf").positions[2], 1, 1, 0);
  json["buffers"][0]["uri"] = "nowhere.bin";
  EXPECT_SENTENCE(read(json.dump(), "a.gltf"), "nowhere.bin");
  json["buffers"][0]["uri"] = "/dev/zero";
  EXPECT_SENTENCE(read(json.dump(), "a.gltf"), "a.gltf: cannot be read as glTF");
}

TEST_F(TracerGltf, ColoursOfVerticesAndMaterials) {
  Glb glb = square_glb();
  glb.primitive()["attributes"]["COLOR_0"] = glb.add<uint8_t>(
      {255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 64, 255, 255, 255, 255, 255}, "VEC4", 5121, true);
  const MeshData data = read(glb);
  const auto colour = data.colours.at(static_cast<size_t>(data.faces[0].corners[2].colour));
  EXPECT_NEAR(colour.z, std::sqrt(64 / 255.0), 1e-6);
  EXPECT_EQ(colour.x, 0);
  EXPECT_TRUE(make_mesh(data, "a")->coloured);
  Glb plain = square_glb();
  plain.primitive()["material"] = 0;
  plain.json["materials"] = {{{"pbrMetallicRoughness", {{"baseColorFactor", {0.09, 0.16, 1, 1}}}}}};
  const MeshData painted = read(plain);
  EXPECT_NEAR(painted.materials[static_cast<size_t>(painted.faces[0].material)].colour.x, 0.3, 1e-6);
  EXPECT_TRUE(painted.colours.empty());
}

TEST_F(TracerGltf, StripsAndFansAndMeshesWithoutIndices) {
  const auto corners = [&](int mode) {
    Glb glb = square_glb();
    glb.primitive()["mode"] = mode;
    glb.primitive()["indices"] = glb.add<uint8_t>({0, 1, 3, 2}, "SCALAR", 5121);
    std::vector<int> all;
    for (const MeshFace& face : read(glb).faces)
      for (const MeshCorner& corner : face.corners) all.push_back(corner.position);
    return all;
  };
  EXPECT_THAT(corners(4), ::testing::ElementsAre(0, 1, 3));
  EXPECT_THAT(corners(5), ::testing::ElementsAre(0, 1, 3, 1, 2, 3));
  EXPECT_THAT(corners(6), ::testing::ElementsAre(0, 1, 3, 0, 3, 2));
  Glb glb = square_glb();
  glb.primitive().erase("indices");
  EXPECT_EQ(read(glb).faces.size(), 1U);
  glb.primitive()["mode"] = 1;
  EXPECT_SENTENCE(read(glb), "a.glb: the scene holds no triangles");
}

TEST_F(TracerGltf, AMeshMayStandInSeveralPlacesButNotInMillions) {
  Glb glb = square_glb();
  glb.json["nodes"] = {{{"children", {1, 1}}}, {{"mesh", 0}, {"translation", {1, 0, 0}}}};
  EXPECT_EQ(read(glb).faces.size(), 4U);
  // Twice the next node, thirty times over: 10^9 squares.
  glb.json["nodes"] = GltfJson::array();
  for (int i = 0; i < 30; ++i) glb.json["nodes"].push_back({{"children", {i + 1, i + 1}}});
  glb.json["nodes"].push_back({{"mesh", 0}});
  EXPECT_SENTENCE(read(glb), "a.glb: its ");
  glb.json["nodes"] = {{{"children", {0}}}};
  EXPECT_SENTENCE(read(glb), "its nodes lie more than 64 deep");
}

TEST_F(TracerGltf, MistakesNameTheField) {
  const auto spoiled = [&](const std::string& pointer, const GltfJson& value) {
    Glb glb = square_glb();
    glb.json[GltfJson::json_pointer(pointer)] = value;
    return glb.bytes();
  };
  EXPECT_SENTENCE(read(spoiled("/bufferViews/1/byteLength", 1000)),
                  "bufferViews.1 has 1000 bytes from byte 48 on, but buffer 0 has 60");
  EXPECT_SENTENCE(read(spoiled("/bufferViews/1/byteLength", 48)),
                  "bufferViews.1 has 48 bytes from byte 48 on, but buffer 0 has 60");
  EXPECT_SENTENCE(read(spoiled("/bufferViews/1/buffer", 7)), "bufferViews.1 is of buffer 7, but there are 1");
  EXPECT_SENTENCE(read(spoiled("/bufferViews/0/byteOffset", -4)), "bufferViews.0.byteOffset is -4");
  EXPECT_SENTENCE(read(spoiled("/accessors/0/count", 5)), "POSITION, accessor 0, has 5 items of 12 bytes");
  EXPECT_SENTENCE(read(spoiled("/accessors/0/count", 1ull << 62)),
                  "accessor 0, has 4611686018427387904 items");
  EXPECT_SENTENCE(read(spoiled("/accessors/0/type", "VEC2")),
                  "accessor 0, has componentType 5126 and 2 channels");
  EXPECT_SENTENCE(read(spoiled("/accessors/1/componentType", 5125)),
                  "indices, accessor 1, has 6 items of 4 bytes");
  EXPECT_SENTENCE(read(spoiled("/accessors/0/bufferView", 9)),
                  "accessor 0, has bufferView 9, but there are 2");
  EXPECT_SENTENCE(read(spoiled("/meshes/0/primitives/0/material", 3)), "has material 3, but there are 0");
  EXPECT_SENTENCE(read(spoiled("/nodes/0/mesh", 3)), "nodes.0 is mesh 3, but there are 1");
  EXPECT_SENTENCE(read(spoiled("/scenes/0/nodes", {4})), "node 4 is named, but there are 1");
  EXPECT_SENTENCE(read(spoiled("/extensionsRequired", {"KHR_draco_mesh_compression"})),
                  "extensionsRequired names \"KHR_draco_mesh_compression\", which is not known here");
  EXPECT_SENTENCE(
      read(spoiled("/accessors/0/sparse",
                   GltfJson::parse(R"({"count": 1, "indices": {"bufferView": 1, "componentType": 5123},
                                       "values": {"bufferView": 0}})"))),
      "accessor 0, is sparse");
  Glb wild = square_glb();
  wild.primitive()["indices"] = wild.add<uint8_t>({0, 1, 4}, "SCALAR", 5121);
  EXPECT_SENTENCE(read(wild), "indices has 4, but there are 4 positions");
  Glb nowhere = square_glb();
  nowhere.primitive()["attributes"]["POSITION"] =
      nowhere.add<float>({0, 0, 0, 1, 0, 0, std::nanf(""), 0, 0, 0, 1, 0}, "VEC3", 5126);
  EXPECT_SENTENCE(read(nowhere), "expected a number within 1e18");
  Glb painted = textured();
  painted.json["images"] = {{{"bufferView", painted.add_bytes("GIF89a")}, {"mimeType", "image/gif"}}};
  EXPECT_SENTENCE(read(painted), "a.glb: images.0: is neither a PNG nor a JPEG picture");
}

TEST_F(TracerGltf, FilesThatAreSomethingElseAreASentence) {
  EXPECT_SENTENCE(read(""), "a.glb: not valid JSON");
  EXPECT_SENTENCE(read("glTF"), "a.glb: the file ends in the middle");
  EXPECT_SENTENCE(read("[1, 2]"), "is no glTF: its JSON is not an object");
  EXPECT_SENTENCE(read("{}"), "a.glb: cannot be read as glTF");
  EXPECT_SENTENCE(read("{\"extras\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}"),
                  "nested more than 64 deep");
  std::string many = "{\"extras\": [0";
  for (int i = 0; i < 2'100'000; ++i) many += ",0";
  EXPECT_SENTENCE(read(many + "]}"), "expected at most 2000000");
  // The same bytes for a thousand buffers of a gigabyte each.
  Glb glb = square_glb();
  std::string bytes = glb.bytes();
  const std::string text = bytes.substr(20, bytes.find("BIN") - 24);
  GltfJson json = GltfJson::parse(text);
  for (int i = 0; i < 1000; ++i) json["buffers"].push_back({{"byteLength", 1 << 30}});
  EXPECT_SENTENCE(read(json.dump(), "a.gltf"), "in all buffers at most 1073741824");
}

TEST_F(TracerGltf, DamagedFilesAreMeshesOrSentences) {
  Glb glb = textured();
  glb.json["images"] = {{{"bufferView", glb.add_bytes(picture())}, {"mimeType", "image/png"}}};
  testing::expect_values_or_sentences(glb.bytes(), 1500,
                                      [&](const std::string& bytes) { make_mesh(read(bytes), "a.glb"); });
}

}  // namespace
}  // namespace lact::data::tracer
