// A glTF document that a test puts together, as .glb or as .gltf.
#pragma once

#include <nlohmann/json.hpp>

#include <cstring>
#include <string>
#include <vector>

namespace lact::data::tracer::testing_glb {

using GltfJson = nlohmann::ordered_json;

struct Glb {
  GltfJson json = {
      {"asset", {{"version", "2.0"}}}, {"scenes", {{{"nodes", {0}}}}}, {"nodes", {{{"mesh", 0}}}}};
  std::string bin;

  /// The number of a new bufferView.
  int add_bytes(const std::string& bytes) {
    bin.resize((bin.size() + 3) / 4 * 4, '\0');
    json["bufferViews"].push_back({{"buffer", 0}, {"byteOffset", bin.size()}, {"byteLength", bytes.size()}});
    bin += bytes;
    return int(json["bufferViews"].size()) - 1;
  }

  /// The number of a new accessor.
  template <class Number>
  int add(const std::vector<Number>& values, const std::string& type, int component,
          bool normalized = false) {
    const int channels = type == "SCALAR" ? 1 : type.back() - '0';
    const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Number));
    const int view = add_bytes(bytes);  // before the line below: it moves what stands in the JSON
    json["accessors"].push_back({{"bufferView", view},
                                 {"componentType", component},
                                 {"normalized", normalized},
                                 {"count", values.size() / size_t(channels)},
                                 {"type", type}});
    return int(json["accessors"].size()) - 1;
  }

  GltfJson& primitive() { return json["meshes"][0]["primitives"][0]; }

  /// The whole file.
  std::string bytes() const {
    GltfJson whole = json;
    std::string data = bin;
    data.resize((data.size() + 3) / 4 * 4, '\0');
    whole["buffers"] = {{{"byteLength", data.size()}}};
    std::string text = whole.dump();
    text.resize((text.size() + 3) / 4 * 4, ' ');
    return "glTF" + word(2) + word(uint32_t(28 + text.size() + data.size())) + word(uint32_t(text.size())) +
           "JSON" + text + word(uint32_t(data.size())) + std::string("BIN\0", 4) + data;
  }

  static std::string word(uint32_t value) {
    std::string bytes(4, '\0');
    std::memcpy(bytes.data(), &value, 4);
    return bytes;
  }
};

/// A square of side 2 around the origin, z = 0, two triangles.
inline Glb square_glb() {
  Glb glb;
  const int places = glb.add<float>({-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0}, "VEC3", 5126);
  const int indices = glb.add<uint16_t>({0, 1, 2, 0, 2, 3}, "SCALAR", 5123);
  glb.json["meshes"] = {{{"primitives", {{{"attributes", {{"POSITION", places}}}, {"indices", indices}}}}}};
  return glb;
}

}  // namespace lact::data::tracer::testing_glb
