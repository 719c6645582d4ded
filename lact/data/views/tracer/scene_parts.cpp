#include "lact/data/views/tracer/scene_parts.h"

#include <algorithm>
#include <cmath>

namespace lact::data::tracer {

namespace {

float smallest(const Vec3& vector) { return std::min({vector.x, vector.y, vector.z}); }
float largest(const Vec3& vector) { return std::max({vector.x, vector.y, vector.z}); }

Placement inner(const Placement& placement, const Vec3& offset, const Vec3& half) {
  return {placement.centre + placement.rotation * offset, placement.rotation, half};
}

Convex convex_in(Form form, const Placement& placement, float taper = 1) {
  return Convex::placed(form, placement.centre, placement.rotation, placement.half, taper);
}

void add_cut_part(Scene& scene, Draw& draw, const Placement& placement) {
  const Vec3& half = placement.half;
  Solid solid;
  const int material = add_material(scene, draw, placement);
  const int kind = draw.below(4);
  if (kind == 0) {  // a cup or a pot
    const float taper = draw.between(0.7, 1);
    const float wall = draw.between(0.08, 0.2);
    const float bottom = draw.between(0.1, 0.3) * half.z;
    // Narrow end down.
    const Placement rotated{placement.centre, placement.rotation * Mat3{{1, 0, 0}, {0, -1, 0}, {0, 0, -1}},
                            half};
    solid = solid_of(convex_in(Form::kTube, rotated, taper), material);
    solid.tool =
        convex_in(Form::kTube,
                  inner(rotated, {0, 0, -bottom}, {half.x * (1 - wall), half.y * (1 - wall), half.z}), taper);
    solid.cut = Cut::kRemoveTool;
  } else if (kind == 1) {  // a block with a hole
    const float hole = draw.between(0.4, 0.8) * std::min(half.x, half.y);
    solid = solid_of(convex_in(Form::kBox, placement), material);
    solid.tool = convex_in(Form::kTube, inner(placement, {0, 0, 0}, {hole, hole, half.z * 1.5F}));
    solid.cut = Cut::kRemoveTool;
  } else if (kind == 2) {  // a ball with a bite taken out of it
    const Vec3 offset = draw.direction() * half;
    const Placement bite{placement.centre + placement.rotation * offset, draw.rotation(),
                         half * draw.between(0.6, 0.9)};
    solid = solid_of(convex_in(Form::kBall, placement), material);
    solid.tool = convex_in(draw.chance(0.5) ? Form::kBall : Form::kBox, bite);
    solid.cut = Cut::kRemoveTool;
  } else {  // a die: what a ball leaves of a box
    solid = solid_of(convex_in(Form::kBox, placement), material);
    solid.tool = convex_in(Form::kBall, inner(placement, {0, 0, 0}, half * draw.between(1.15, 1.4)));
    solid.cut = Cut::kKeepCommon;
  }
  if (draw.chance(0.7)) solid.tool_material = add_material(scene, draw, placement);
  scene.solids.push_back(solid);
}

void add_implicit_part(Scene& scene, Draw& draw, const Placement& placement) {
  Implicit implicit;
  implicit.centre = placement.centre;
  implicit.rotation = placement.rotation;
  implicit.material = add_material(scene, draw, placement);
  const Vec3& half = placement.half;
  const int kind = draw.below(3);
  if (kind == 0) {
    implicit.shape = Shape::kTorus;
    const float radius = std::min(half.x, half.y);
    implicit.size.y = std::min(radius * draw.between(0.15, 0.4), half.z);
    implicit.size.x = radius - implicit.size.y;
  } else if (kind == 1) {
    implicit.shape = Shape::kRoundedBox;
    implicit.size = half;
    implicit.rounding = draw.between(0.2, 0.7) * smallest(half);
  } else {
    implicit.shape = Shape::kBlob;
    implicit.rounding = draw.between(0.3, 0.6) * smallest(half);
    implicit.num_balls = 2 + draw.below(Implicit::kMaxBalls - 1);
    for (int i = 0; i < implicit.num_balls; ++i) {
      Ball& ball = implicit.balls[static_cast<size_t>(i)];
      ball.radius = draw.between(0.35, 0.65) * smallest(half);
      const float room = ball.radius + implicit.rounding / 2;
      const Vec3 reach{std::fmax(half.x - room, 0.0F), std::fmax(half.y - room, 0.0F),
                       std::fmax(half.z - room, 0.0F)};
      ball.centre = draw.in_ball() * reach;
    }
  }
  implicit.bound();
  scene.implicits.push_back(implicit);
}

}  // namespace

Placement mirrored(const Placement& placement) {
  const Mat3 mirror{{-1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  return {mirror * placement.centre, mirror * placement.rotation * mirror, placement.half};
}

int add_material(Scene& scene, Draw& draw, const Placement& placement) {
  Material material;
  Pattern& pattern = material.pattern;
  pattern.kind =
      draw.chance(0.12) ? PatternKind::kFlat : static_cast<PatternKind>(1 + draw.below(kNumPatternKinds - 1));
  pattern.first = draw.colour();
  pattern.second = draw.colour_unlike(pattern.first);
  pattern.noise_seed = static_cast<uint32_t>(draw.random().next());
  const float extent = largest(placement.half);
  const bool gradient = pattern.kind == PatternKind::kGradient;
  const float frequency = (gradient ? draw.between(0.7, 1.2) : draw.between(1.0, 2.6)) / extent;
  const Mat3 axes = draw.chance(0.5) ? placement.rotation.transposed() : draw.rotation();
  pattern.frame = {axes.x * frequency, axes.y * frequency, axes.z * frequency};
  // Off the centre, so that no face lies on the border of two cells.
  const Vec3 offset = draw.in_ball() * (gradient ? 0.2F : 0.5F);
  pattern.centre = placement.centre + placement.rotation * (offset * placement.half);
  if (draw.chance(0.35)) {
    material.gloss = draw.between(0.05, 0.35);
    material.log_hardness = 3 + draw.below(4);
  }
  scene.materials.push_back(material);
  return static_cast<int>(scene.materials.size()) - 1;
}

Convex random_convex(Draw& draw, const Placement& placement) {
  switch (draw.below(4)) {
    case 0:
      return convex_in(Form::kBall, placement);
    case 1:
      return convex_in(Form::kBox, placement);
    case 2:
      return convex_in(Form::kTube, placement);
    default:
      return convex_in(Form::kTube, placement, draw.chance(0.4) ? 0 : draw.between(0.2, 0.7));
  }
}

void add_part(Scene& scene, Draw& draw, const Placement& placement) {
  const float kind = draw.between(0, 1);
  if (kind < 0.25F) return add_implicit_part(scene, draw, placement);
  if (kind < 0.45F) return add_cut_part(scene, draw, placement);
  const Convex convex = random_convex(draw, placement);
  scene.solids.push_back(solid_of(convex, add_material(scene, draw, placement)));
}

void add_lights(Scene& scene, Draw& draw) {
  const auto upwards = [&](float least) {
    Vec3 direction = draw.direction();
    while (std::fabs(direction.z) < least) direction = draw.direction();
    return Vec3{direction.x, direction.y, std::fabs(direction.z)};
  };
  // From studio light that comes from everywhere to a bare lamp; together about what makes white look white.
  const float total = draw.between(0.95, 1.3);
  const float ambient = total * draw.between(0.3, 0.75);
  scene.ambient_sky = draw.tinged(ambient, 0.06);
  scene.ambient_ground = draw.tinged(ambient * draw.between(0.5, 0.9), 0.06);
  Light main;
  main.directional = draw.chance(0.5);
  main.place = upwards(0.4F);
  main.colour = draw.tinged(total - ambient, 0.08);
  if (!main.directional) main.place = main.place * draw.between(2.5, 5);
  scene.lights.push_back(main);
  if (!draw.chance(0.3)) return;
  Light second;
  second.place = upwards(0.1F);
  second.colour = draw.tinged((total - ambient) * draw.between(0.2, 0.5), 0.12);
  scene.lights.push_back(second);
}

void choose_background(Scene& scene, Draw& draw, double white) {
  if (draw.chance(white)) return;
  // Paler than things are, which stand out before it.
  const auto pale = [&] {
    const Vec3 colour = draw.colour();
    return blend(colour, {0.8F, 0.8F, 0.8F}, draw.between(0.1, 0.8));
  };
  scene.background.bottom = pale();
  scene.background.top = draw.chance(0.5) ? scene.background.bottom : pale();
}

}  // namespace lact::data::tracer
