// Triangle meshes: as files give them, and made ready for rays.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lact/data/views/tracer/bvh.h"
#include "lact/data/views/tracer/texture.h"

namespace lact::data::tracer {

enum class Up { kY, kZ };

/// Vertices, and also triangles, of a file.
inline constexpr size_t kMaxMeshItems = 20'000'000;

struct MeshMaterial {
  std::string name;
  Vec3 colour{0.8F, 0.8F, 0.8F};
  std::shared_ptr<const TexturePyramid> texture;  ///< instead of the colour; may be null
};

struct MeshCorner {
  int position = -1;
  int texture = -1;  ///< -1: none
  int normal = -1;   ///< -1: none
  int colour = -1;   ///< -1: none
};

struct MeshFace {
  std::array<MeshCorner, 3> corners;
  int material = 0;
};

struct MeshData {
  std::vector<Vec<double>> positions;
  std::vector<std::array<float, 2>> texture_points;  ///< u to the right, v upwards
  std::vector<Vec3> normals;
  std::vector<Vec3> colours;  ///< at corners; what the material shows is multiplied by them
  std::vector<MeshFace> faces;
  std::vector<MeshMaterial> materials;  ///< at least one
  std::optional<Up> up;                 ///< where the format says which axis points up
};

struct MeshOptions {
  Up up = Up::kZ;       ///< of the file; a mesh that is ready has z up
  bool smooth = true;   ///< false: every triangle is flat
  float crease = 0.5F;  ///< cosine: faces that meet at a sharper angle keep their edge
};

/// What the rays need to know of a triangle once they met it.
struct MeshSurface {
  Vec3 face;                    ///< normal of the flat triangle
  std::array<Vec3, 3> normals;  ///< at the corners
  std::array<std::array<float, 2>, 3> texture_points;
  float texels_per_length = 0;
  int material = 0;
};

/// In its own frame: the centre of the bounding box at the origin, the farthest vertex at distance 1, z up.
struct Mesh {
  std::vector<MeshSurface> surfaces;         ///< of the triangles, in the tree's order
  std::vector<std::array<Vec3, 3>> colours;  ///< at the corners of the triangles; empty where there are none
  std::vector<MeshMaterial> materials;
  Bvh tree;
  float lowest = -1;      ///< smallest z
  bool coloured = false;  ///< by a texture, or by several colours

  size_t bytes() const;
};

/// `name` is for the sentence about a mesh without any face that has an area.
std::shared_ptr<const Mesh> make_mesh(const MeshData& data, const std::string& name,
                                      const MeshOptions& options = {});

}  // namespace lact::data::tracer
