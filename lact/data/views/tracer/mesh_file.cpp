#include "lact/data/views/tracer/mesh_file.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/data/views/tracer/gltf.h"
#include "lact/data/views/tracer/obj.h"
#include "lact/data/views/tracer/ply.h"

namespace lact::data::tracer {

namespace {

using MeshReader = MeshData (*)(const std::string& path);

/// Null for other files.
MeshReader mesh_reader(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (ending == ".obj") return &read_obj;
  if (ending == ".gltf" || ending == ".glb") return &read_gltf;
  if (ending == ".ply") return &read_ply;
  return nullptr;
}

}  // namespace

bool is_mesh_name(const std::string& path) { return mesh_reader(path) != nullptr; }

MeshData read_mesh(const std::string& path) {
  const MeshReader reader = mesh_reader(path);
  LACT_CHECK(reader != nullptr, "{}: is not known as a mesh by its name, expected {}", path, kMeshFormats);
  return reader(path);
}

}  // namespace lact::data::tracer
