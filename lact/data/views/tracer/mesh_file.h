// Mesh files of every format, told apart by the ending of their name.
#pragma once

#include <string>

#include "lact/data/views/tracer/mesh.h"

namespace lact::data::tracer {

/// "OBJ, glTF, GLB or PLY", for sentences.
inline constexpr const char* kMeshFormats = "OBJ, glTF, GLB or PLY";

/// Whether the name ends with .obj, .gltf, .glb or .ply, in small or capital letters.
bool is_mesh_name(const std::string& path);

/// A mistake in the file is one sentence.
MeshData read_mesh(const std::string& path);

}  // namespace lact::data::tracer
