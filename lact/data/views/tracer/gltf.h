// glTF 2.0: .glb files, and .gltf files with what they name beside them.
#pragma once

#include <string>

#include "lact/data/views/tracer/mesh.h"

namespace lact::data::tracer {

/// The triangles of the file's scene, with base colours, their textures (PNG or JPEG) and colours at
/// vertices. Shapes are as they stand without animation, skin or morph targets. A mistake gives a sentence,
/// and so does an extension that the file cannot do without and that is not known here.
MeshData read_gltf(const std::string& path);

}  // namespace lact::data::tracer
