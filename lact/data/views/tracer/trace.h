// What four rays see.
#pragma once

#include "lact/data/views/tracer/scene.h"

namespace lact::data::tracer {

/// Which thing a ray met.
enum class Thing : int32_t { kNone = -1, kSolid, kImplicit, kMesh };

struct SceneHit {
  Float4 distance = splat(kNothing);  ///< kNothing for none
  Mask4 thing = Mask4{} - 1;          ///< Thing, as a number
  Mask4 index = Mask4{};              ///< in the scene's list of such things
  Mask4 on_tool = Mask4{};            ///< of a solid
  TriangleHit triangle;               ///< of a mesh
};

/// The nearest thing of each ray.
SceneHit closest(const Scene& scene, const Ray4& ray);

/// Lanes of `active` in which something stands before `limit`.
Mask4 occluded(const Scene& scene, const Ray4& ray, Mask4 active, Float4 limit);

/// Colours as shown, in [0, 1]. `spread`: the width that a sample stands for, at distance 1.
Vec3x4 seen_colours(const Scene& scene, const Ray4& ray, float spread);

}  // namespace lact::data::tracer
