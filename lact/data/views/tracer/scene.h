// A scene: things, what they are made of, light and background. World axes: z is up; things stand within a
// distance of about 1 from the origin.
#pragma once

#include <memory>
#include <vector>

#include "lact/data/views/tracer/implicit.h"
#include "lact/data/views/tracer/mesh.h"
#include "lact/data/views/tracer/pattern.h"
#include "lact/data/views/tracer/solid.h"

namespace lact::data::tracer {

struct Material {
  Pattern pattern;
  float gloss = 0;       ///< strength of highlights
  int log_hardness = 5;  ///< 2 to this power is the exponent of Blinn's highlight
};

struct MeshInstance {
  std::shared_ptr<const Mesh> mesh;
  Mat3 to_world;  ///< a rotation, perhaps with a mirror image, times `scale`
  float scale = 1;
  Vec3 centre{0, 0, 0};
  Mat3 recolour;     ///< of the mesh's own colours
  int material = 0;  ///< highlights; and the pattern, of a mesh without colours of its own
};

struct Light {
  bool directional = true;
  Vec3 place{0, 0, 1};   ///< direction to it, of length 1; or where it is
  Vec3 colour{1, 1, 1};  ///< what a surface that faces it receives at the origin
};

struct Background {
  Vec3 bottom{1, 1, 1};  ///< seen downwards
  Vec3 top{1, 1, 1};     ///< seen upwards

  Vec3x4 colours(const Vec3x4& directions) const;
};

struct Scene {
  std::vector<Solid> solids;
  std::vector<Implicit> implicits;
  std::vector<MeshInstance> meshes;
  std::vector<Material> materials;  ///< at least one
  std::vector<Light> lights;
  Vec3 ambient_sky{0.4F, 0.4F, 0.4F};     ///< reaches what faces upwards
  Vec3 ambient_ground{0.3F, 0.3F, 0.3F};  ///< reaches what faces downwards
  Background background;
  /// Surfaces fade into the background between this distance from the origin and twice as far, so that an
  /// endless ground has no edge.
  float fade_from = kNothing;
};

}  // namespace lact::data::tracer
