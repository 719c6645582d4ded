// Wavefront OBJ files with their materials.
#pragma once

#include <cstdint>
#include <string>

#include "lact/data/views/tracer/mesh.h"

namespace lact::data::tracer {

/// Reads v (also with a colour behind the place: six numbers), vt, vn, f (v, v/t, v//n, v/t/n, negative
/// indices, polygons as fans), usemtl and mtllib; other statements are passed over. A mistake gives a
/// sentence with the line's number. The shape counts: where the material file is missing or has no such name,
/// faces get a plain colour; a texture that is named and cannot be read is an error.
MeshData read_obj(const std::string& path);

/// The materials of an MTL file: newmtl, Kd and map_Kd (PNG or JPEG, relative to the file).
std::vector<MeshMaterial> read_mtl(const std::string& path, int64_t max_texels = TextureSet::kMaxTexels);

}  // namespace lact::data::tracer
