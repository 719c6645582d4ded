#include "lact/data/views/tracer/random_scene.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "lact/data/views/tracer/scene_parts.h"

namespace lact::data::tracer {

namespace {

Vec3 random_half(Draw& draw, double low, double high, double stretch) {
  const float size = draw.between(low, high);
  return Vec3{draw.factor(stretch), draw.factor(stretch), draw.factor(stretch)} * size;
}

/// std::hypot may round differently from machine to machine, and scenes depend on it.
float flat_length(float x, float y) { return std::sqrt(x * x + y * y); }

void strew_about(Scene& scene, Draw& draw) {
  const int count = 4 + draw.below(6);
  for (int i = 0; i < count; ++i) {
    Placement placement;
    placement.half = random_half(draw, 0.18, count < 6 ? 0.42 : 0.32, 1.6);
    placement.rotation = draw.rotation();
    const float room = 1 - length(placement.half);
    placement.centre = draw.in_ball() * std::clamp(room, 0.1F, 0.75F);
    add_part(scene, draw, placement);
  }
}

/// A plate at this height, or endless ground.
void lay_ground(Scene& scene, Draw& draw, float height) {
  Placement placement;
  placement.rotation = draw.rotation_about_z();
  if (draw.chance(0.25)) {
    placement.centre = {0, 0, height};
    const int material = add_material(scene, draw, placement);
    scene.solids.push_back(solid_of(
        Convex::placed(Form::kHalfSpace, placement.centre, placement.rotation, placement.half), material));
    scene.fade_from = 1.6F;
    return;
  }
  const float thickness = draw.between(0.02, 0.07);
  placement.centre = {0, 0, height - thickness};
  const bool round = draw.chance(0.4);
  const float side = round ? draw.between(0.8, 0.95) : draw.between(0.6, 0.72);
  placement.half = {side, side * draw.between(0.8, 1), thickness};
  const int material = add_material(scene, draw, placement);
  scene.solids.push_back(solid_of(
      Convex::placed(round ? Form::kTube : Form::kBox, placement.centre, placement.rotation, placement.half),
      material));
}

void set_table(Scene& scene, Draw& draw) {
  const float ground = -draw.between(0.3, 0.45);
  lay_ground(scene, draw, ground);
  struct Taken {
    float x, y, radius;
  };
  std::vector<Taken> taken;
  const int count = 3 + draw.below(4);
  for (int attempt = 0; attempt < 200 && static_cast<int>(taken.size()) < count; ++attempt) {
    Placement placement;
    placement.half = random_half(draw, 0.16, 0.34, 1.5);
    placement.half.z = std::fmin(placement.half.z * draw.between(0.8, 1.8), 0.5F);
    placement.rotation = draw.rotation_about_z();
    const Vec3 spot = draw.in_ball() * 0.62F;
    const float radius = flat_length(placement.half.x, placement.half.y);
    const bool free = std::none_of(taken.begin(), taken.end(), [&](const Taken& other) {
      return flat_length(spot.x - other.x, spot.y - other.y) < 0.75F * (radius + other.radius);
    });
    if (!free || flat_length(spot.x, spot.y) + radius > 0.85F) continue;
    taken.push_back({spot.x, spot.y, radius});
    placement.centre = {spot.x, spot.y, ground + placement.half.z};
    add_part(scene, draw, placement);
  }
}

void stack(Scene& scene, Draw& draw) {
  const int count = 3 + draw.below(4);
  const float half_height = 0.8F / static_cast<float>(count);
  float height = -0.8F;
  if (draw.chance(0.4)) lay_ground(scene, draw, height);
  for (int i = 0; i < count; ++i) {
    Placement placement;
    const float thin = half_height * draw.between(0.6, 1.1);
    const float wide = draw.between(0.22, 0.56);
    placement.half = {wide, wide * draw.factor(1.4), thin};
    placement.rotation = draw.rotation_about_z();
    placement.centre = {draw.between(-0.1, 0.1), draw.between(-0.1, 0.1), height + thin};
    height += 2 * thin;
    add_part(scene, draw, placement);
    if (!draw.chance(0.4)) continue;
    Placement handle;  // sticks out to one side, so that the stack has a front
    handle.half = {draw.between(0.08, 0.2), draw.between(0.05, 0.15), draw.between(0.05, 0.15)};
    handle.rotation = placement.rotation;
    handle.centre = placement.centre + placement.rotation * Vec3{placement.half.x, 0, 0};
    add_part(scene, draw, handle);
  }
}

/// A body with a head in front and pairs of parts on both sides.
void build_figure(Scene& scene, Draw& draw) {
  const size_t solids_before = scene.solids.size();
  const auto add = [&](const Placement& placement) {
    const Convex convex = random_convex(draw, placement);
    scene.solids.push_back(solid_of(convex, add_material(scene, draw, placement)));
  };
  Placement body;
  body.half = {draw.between(0.25, 0.42), draw.between(0.35, 0.55), draw.between(0.25, 0.45)};
  add(body);
  Placement head;
  head.half = random_half(draw, 0.17, 0.28, 1.3);
  head.centre = {0, -body.half.y - head.half.y * 0.5F, body.half.z * draw.between(0, 1)};
  add(head);
  const int pairs = 2 + draw.below(3);
  for (int i = 0; i < pairs; ++i) {
    Placement part;
    part.half = {draw.between(0.07, 0.17), draw.between(0.07, 0.19), draw.between(0.1, 0.33)};
    if (draw.chance(0.6)) part.rotation = draw.rotation();
    Vec3 outwards = draw.direction();
    outwards.x = std::fmax(std::fabs(outwards.x), 0.4F);
    part.centre = outwards * body.half;
    add(part);
    const Placement other = mirrored(part);
    const Solid& solid = scene.solids.back();
    scene.solids.push_back(
        solid_of(Convex::placed(solid.body.form, other.centre, other.rotation, other.half, solid.body.taper),
                 solid.material));
  }
  if (draw.chance(0.7)) {
    Placement crest;
    crest.half = {draw.between(0.05, 0.2), draw.between(0.1, 0.3), draw.between(0.08, 0.25)};
    crest.centre = {0, draw.between(-0.2, 0.3), body.half.z + crest.half.z * 0.6F};
    add_part(scene, draw, crest);
  }
  // Figures face every way: patterns stay where they are, which is as good.
  const Mat3 turn = draw.rotation_about_z();
  for (size_t i = solids_before; i < scene.solids.size(); ++i) {
    for (Convex* convex : {&scene.solids[i].body, &scene.solids[i].tool}) {
      convex->to_form = convex->to_form * turn.transposed();
      convex->centre = turn * convex->centre;
    }
    scene.solids[i].bounds.centre = turn * scene.solids[i].bounds.centre;
  }
  for (Implicit& implicit : scene.implicits) {
    implicit.rotation = turn * implicit.rotation;
    implicit.centre = turn * implicit.centre;
    implicit.bound();
  }
  if (draw.chance(0.35)) lay_ground(scene, draw, -0.55F);
}

}  // namespace

Scene random_scene(uint64_t seed) {
  Draw draw(seed);
  Scene scene;
  choose_background(scene, draw, 0.4);
  add_lights(scene, draw);
  const float layout = draw.between(0, 1);
  if (layout < 0.3F) {
    strew_about(scene, draw);
  } else if (layout < 0.6F) {
    set_table(scene, draw);
  } else if (layout < 0.8F) {
    stack(scene, draw);
  } else {
    build_figure(scene, draw);
  }
  return scene;
}

Scene mesh_scene(std::shared_ptr<const Mesh> mesh, uint64_t seed) {
  Draw draw(seed);
  Scene scene;
  choose_background(scene, draw, 0.7);
  add_lights(scene, draw);
  MeshInstance instance;
  instance.to_world = draw.rotation_about_z();
  if (draw.chance(0.3)) instance.to_world = instance.to_world * Mat3{{-1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  std::array<Vec3, 3> channels = {Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{0, 0, 1}};
  if (draw.chance(0.3)) {
    std::swap(channels[0], channels[static_cast<size_t>(draw.below(3))]);
    std::swap(channels[1], channels[static_cast<size_t>(1 + draw.below(2))]);
  }
  const Vec3 gain = draw.tinged(draw.between(0.85, 1.15), 0.12);
  instance.recolour = {channels[0] * gain.x, channels[1] * gain.y, channels[2] * gain.z};
  Placement whole;
  whole.half = {0.6F, 0.6F, 0.6F};
  instance.material = add_material(scene, draw, whole);
  instance.mesh = std::move(mesh);
  if (draw.chance(0.25)) {
    Placement plate;
    plate.rotation = draw.rotation_about_z();
    const float thickness = draw.between(0.01, 0.04);
    plate.half = {draw.between(0.7, 1.0), draw.between(0.7, 1.0), thickness};
    plate.centre = {0, 0, instance.mesh->lowest - thickness - 0.002F};
    const Form form = draw.chance(0.5) ? Form::kTube : Form::kBox;
    const int material = add_material(scene, draw, plate);
    scene.solids.push_back(
        solid_of(Convex::placed(form, plate.centre, plate.rotation, plate.half), material));
  }
  scene.meshes.push_back(std::move(instance));
  return scene;
}

}  // namespace lact::data::tracer
