#include "lact/data/views/tracer/solid.h"

#include <cmath>

namespace lact::data::tracer {

namespace {

/// Distances at which a ray enters and leaves; enter > leave where it misses.
struct Span {
  Float4 enter, leave;
};

Span nowhere_where(Mask4 missed, const Span& span) {
  return {select(missed, splat(kNothing), span.enter), select(missed, splat(-kNothing), span.leave)};
}

Span common_span(const Span& a, const Span& b) { return {higher(a.enter, b.enter), lower(a.leave, b.leave)}; }

/// The distances at which start + direction t lies in [-1, 1].
Span slab_span(Float4 start, Float4 direction) {
  const Float4 safe = select(magnitude(direction) < 1e-12F, splat(1e-12F), direction);
  const Float4 first = (-1.0F - start) / safe;
  const Float4 second = (1.0F - start) / safe;
  return {lower(first, second), higher(first, second)};
}

Span ball_span(const Vec3x4& start, const Vec3x4& direction) {
  const Float4 square = dot(direction, direction);
  const Float4 half = dot(start, direction);
  const Float4 inside = half * half - square * (dot(start, start) - 1.0F);
  const Float4 spread = root(higher(inside, splat(0)));
  return nowhere_where(inside <= 0, {(-half - spread) / square, (-half + spread) / square});
}

Span box_span(const Vec3x4& start, const Vec3x4& direction) {
  return common_span(common_span(slab_span(start.x, direction.x), slab_span(start.y, direction.y)),
                     slab_span(start.z, direction.z));
}

// x^2 + y^2 = (middle + slope z)^2 gives square t^2 + 2 half t + rest = 0. Inside is where it is negative:
// between the roots, or, of a steep ray through a cone, beyond one of them (the other is the mirrored cone).
Span tube_span(const Vec3x4& start, const Vec3x4& direction, float taper) {
  const float middle = (1 + taper) / 2;
  const float slope = (taper - 1) / 2;
  const Float4 radius = middle + slope * start.z;
  const Float4 growth = slope * direction.z;
  Float4 square = direction.x * direction.x + direction.y * direction.y - growth * growth;
  square = select(magnitude(square) < 1e-9F, splat(1e-9F), square);
  const Float4 half = start.x * direction.x + start.y * direction.y - radius * growth;
  const Float4 rest = start.x * start.x + start.y * start.y - radius * radius;
  const Float4 inside = half * half - square * rest;
  const Float4 spread = root(higher(inside, splat(0)));
  const Float4 first = (-half - spread) / square;
  const Float4 second = (-half + spread) / square;
  Span side{lower(first, second), higher(first, second)};
  const Mask4 steep = square < 0;
  const Mask4 narrowing = growth < 0;
  const Float4 enter = select(steep, select(narrowing, splat(-kNothing), side.leave), side.enter);
  const Float4 leave = select(steep, select(narrowing, side.enter, splat(kNothing)), side.leave);
  side = nowhere_where((inside < 0) & ~steep, {enter, leave});
  return common_span(side, slab_span(start.z, direction.z));
}

Span half_space_span(const Vec3x4& start, const Vec3x4& direction) {
  const Float4 safe = select(magnitude(direction.z) < 1e-12F, splat(1e-12F), direction.z);
  const Float4 crossing = -start.z / safe;
  const Mask4 falling = safe < 0;
  return {select(falling, crossing, splat(-kNothing)), select(falling, splat(kNothing), crossing)};
}

Span span_of(const Convex& convex, const Ray4& ray) {
  const Vec3x4 start = convex.to_form * (ray.origin - splat(convex.centre));
  const Vec3x4 direction = convex.to_form * ray.direction;
  switch (convex.form) {
    case Form::kBall:
      return ball_span(start, direction);
    case Form::kBox:
      return box_span(start, direction);
    case Form::kTube:
      return tube_span(start, direction, convex.taper);
    case Form::kHalfSpace:
      return half_space_span(start, direction);
  }
  return {splat(kNothing), splat(-kNothing)};
}

Vec3 form_normal(const Convex& convex, const Vec3& point) {
  switch (convex.form) {
    case Form::kBall:
      return point;
    case Form::kBox: {
      const Vec3 depth{std::fabs(point.x), std::fabs(point.y), std::fabs(point.z)};
      if (depth.x >= depth.y && depth.x >= depth.z) return {std::copysign(1.0F, point.x), 0, 0};
      if (depth.y >= depth.z) return {0, std::copysign(1.0F, point.y), 0};
      return {0, 0, std::copysign(1.0F, point.z)};
    }
    case Form::kTube: {
      const float slope = (convex.taper - 1) / 2;
      const float radius = (1 + convex.taper) / 2 + slope * point.z;
      const float from_axis = std::sqrt(point.x * point.x + point.y * point.y);
      const bool on_cap = std::fabs(1 - std::fabs(point.z)) < std::fabs(radius - from_axis);
      if (on_cap) return {0, 0, std::copysign(1.0F, point.z)};
      return {point.x, point.y, -slope * from_axis};
    }
    case Form::kHalfSpace:
      return {0, 0, 1};
  }
  return {};
}

Float4 beyond_start(Float4 distance, Mask4 valid) {
  return select(valid & (distance > kNearest), distance, splat(kNothing));
}

}  // namespace

Convex Convex::placed(Form form, const Vec3& centre, const Mat3& rotation, const Vec3& size, float taper) {
  const Mat3 back = rotation.transposed();
  const Mat3 to_form{back.x * (1 / size.x), back.y * (1 / size.y), back.z * (1 / size.z)};
  return {form, taper, to_form, centre};
}

Vec3 Convex::to_world(const Vec3& form_point) const {
  // The rows of to_form are orthogonal: its inverse has them as columns, divided by their square length.
  return centre +
         to_form.back({form_point.x / dot(to_form.x, to_form.x), form_point.y / dot(to_form.y, to_form.y),
                       form_point.z / dot(to_form.z, to_form.z)});
}

Vec3 Convex::normal(const Vec3& world_point) const {
  return normalized(to_form.back(form_normal(*this, to_form * (world_point - centre))));
}

Solid solid_of(const Convex& body, int material) {
  Solid solid;
  solid.body = body;
  solid.material = solid.tool_material = material;
  if (body.form == Form::kHalfSpace) return solid;
  const auto reach = [&](float x, float y, float z) {
    return length(body.to_world({x, y, z}) - body.centre);
  };
  const float wide = std::fmax(reach(1, 0, 0), reach(0, 1, 0));
  float radius = reach(1, 1, 1);
  if (body.form == Form::kBall) radius = std::fmax(wide, reach(0, 0, 1));
  if (body.form == Form::kTube) radius = std::hypot(wide, reach(0, 0, 1));
  solid.bounds = {body.centre, radius * 1.0001F};
  return solid;
}

SolidHit first_hit(const Solid& solid, const Ray4& ray) {
  const Span body = span_of(solid.body, ray);
  const Mask4 met = body.enter < body.leave;
  if (solid.cut == Cut::kNone) return {beyond_start(body.enter, met), Mask4{}};
  const Span tool = span_of(solid.tool, ray);
  if (solid.cut == Cut::kKeepCommon) {
    const Span both = common_span(body, tool);
    return {beyond_start(both.enter, both.enter < both.leave), tool.enter > body.enter};
  }
  const Mask4 in_tool = (body.enter >= tool.enter) & (body.enter < tool.leave);
  const Float4 outside = beyond_start(body.enter, met & ~in_tool);
  const Mask4 hollow =
      met & (tool.enter < tool.leave) & (tool.leave > body.enter) & (tool.leave < body.leave);
  const Float4 inside = beyond_start(tool.leave, hollow);
  return {lower(outside, inside), inside < outside};
}

Vec3 surface_normal(const Solid& solid, const Vec3& point, bool on_tool) {
  if (!on_tool) return solid.body.normal(point);
  const Vec3 normal = solid.tool.normal(point);
  return solid.cut == Cut::kRemoveTool ? -normal : normal;
}

}  // namespace lact::data::tracer
