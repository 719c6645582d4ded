// Solids with exact intersections: convex forms, alone or cut by one another.
#pragma once

#include "lact/data/views/tracer/vec.h"

namespace lact::data::tracer {

enum class Form {
  kBall,       ///< x^2 + y^2 + z^2 <= 1
  kBox,        ///< |x|, |y|, |z| <= 1
  kTube,       ///< x^2 + y^2 <= r(z)^2, |z| <= 1; r goes linearly from 1 at z = -1 to `taper` at z = 1
  kHalfSpace,  ///< z <= 0
};

/// A form moved into the world by an affine map; stretching a ball makes an ellipsoid, and so on.
struct Convex {
  Form form = Form::kBall;
  float taper = 1;  ///< of a tube, in [0, 1]: 1 is a cylinder, 0 a cone
  Mat3 to_form;     ///< linear part of world -> form
  Vec3 centre{0, 0, 0};

  /// The form's point (x, y, z) stands at `centre` + `rotation` (x size.x, y size.y, z size.z).
  static Convex placed(Form form, const Vec3& centre, const Mat3& rotation, const Vec3& size,
                       float taper = 1);

  Vec3 to_world(const Vec3& form_point) const;
  /// The outward direction at a point of the surface, of length 1.
  Vec3 normal(const Vec3& world_point) const;
};

enum class Cut {
  kNone,
  kRemoveTool,  ///< what is in the body and not in the tool
  kKeepCommon,  ///< what is in both
};

struct Solid {
  Convex body;
  Cut cut = Cut::kNone;
  Convex tool;
  Bounds bounds;     ///< holds the body
  int material = 0;  ///< of the body's surface
  int tool_material = 0;
};

/// A body with its bounds; of a half-space there are none.
Solid solid_of(const Convex& body, int material);

struct SolidHit {
  Float4 distance;  ///< kNothing where the ray misses
  Mask4 on_tool;    ///< the surface is the tool's
};

/// For rays that start outside.
SolidHit first_hit(const Solid& solid, const Ray4& ray);

/// The outward direction of length 1.
Vec3 surface_normal(const Solid& solid, const Vec3& point, bool on_tool);

}  // namespace lact::data::tracer
