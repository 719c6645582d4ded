// Polygon files (PLY), as scanners and MeshLab write them.
#pragma once

#include <string>

#include "lact/data/views/tracer/mesh.h"

namespace lact::data::tracer {

/// Text or binary, in either byte order. Of the vertices x, y, z, nx, ny, nz, red, green, blue and texture
/// coordinates (s, t; u, v; texture_u, texture_v), of the faces vertex_indices and texcoord, and the comment
/// TextureFile; what else there is is passed over. A mistake gives a sentence.
MeshData read_ply(const std::string& path);

}  // namespace lact::data::tracer
