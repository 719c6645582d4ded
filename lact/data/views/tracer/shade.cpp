#include <algorithm>
#include <array>
#include <cmath>

#include "lact/data/views/tracer/trace.h"

namespace lact::data::tracer {

namespace {

/// What the light falls on.
struct Surface {
  Vec3 point;
  Vec3 normal;  ///< towards the viewer
  Vec3 face;    ///< of the flat triangle, where `normal` is smoothed over several
  Vec3 albedo;  ///< linear
  const Material* material;
};

// Colours are given and shown with a gamma of 2; light adds up in linear ones.
Vec3 linear(const Vec3& colour) { return colour * colour; }
Float4 shown(Float4 value) { return root(lower(higher(value, splat(0)), splat(1))); }

Vec3 clamped_colour(const Vec3& colour) {
  return {std::clamp(colour.x, 0.0F, 1.0F), std::clamp(colour.y, 0.0F, 1.0F),
          std::clamp(colour.z, 0.0F, 1.0F)};
}

Float4 smoothstep(Float4 share) {
  const Float4 inside = lower(higher(share, splat(0)), splat(1));
  return inside * inside * (3.0F - 2.0F * inside);
}

void describe_mesh_surface(const Scene& scene, const SceneHit& hit, int index, const Vec3& direction,
                           float spread, Surface& surface) {
  const MeshInstance& instance = scene.meshes[static_cast<size_t>(hit.index[index])];
  const auto triangle = static_cast<size_t>(hit.triangle.triangle[index]);
  const MeshSurface& mesh_surface = instance.mesh->surfaces[triangle];
  const float of_second = hit.triangle.of_second[index];
  const float of_third = hit.triangle.of_third[index];
  const float of_first = 1 - of_second - of_third;
  const auto& normals = mesh_surface.normals;
  surface.normal = normalized(instance.to_world *
                              (normals[0] * of_first + normals[1] * of_second + normals[2] * of_third));
  surface.face = normalized(instance.to_world * mesh_surface.face);
  surface.material = &scene.materials[static_cast<size_t>(instance.material)];
  const MeshMaterial& own = instance.mesh->materials[static_cast<size_t>(mesh_surface.material)];
  if (!instance.mesh->coloured) {
    surface.albedo = surface.material->pattern.colour(surface.point);
    return;
  }
  Vec3 colour = own.colour;
  if (own.texture) {
    const auto& points = mesh_surface.texture_points;
    const float u = points[0][0] * of_first + points[1][0] * of_second + points[2][0] * of_third;
    const float v = points[0][1] * of_first + points[1][1] * of_second + points[2][1] * of_third;
    // Seen at a slant a sample covers more; the mean of both sides of its footprint counts.
    const float slant = std::sqrt(std::fmax(std::fabs(dot(surface.face, direction)), 0.1F));
    const float width = spread * hit.distance[index] / instance.scale / slant;
    colour = own.texture->sample(u, v, width * mesh_surface.texels_per_length);
  }
  if (!instance.mesh->colours.empty()) {
    const auto& corners = instance.mesh->colours[triangle];
    colour = colour * (corners[0] * of_first + corners[1] * of_second + corners[2] * of_third);
  }
  surface.albedo = clamped_colour(instance.recolour * colour);
}

Surface surface_at(const Scene& scene, const SceneHit& hit, int index, const Vec3& point,
                   const Vec3& direction, float spread) {
  Surface surface{};
  surface.point = point;
  const auto which = static_cast<size_t>(hit.index[index]);
  switch (static_cast<Thing>(hit.thing[index])) {
    case Thing::kNone:
      break;
    case Thing::kSolid: {
      const Solid& solid = scene.solids[which];
      const bool on_tool = hit.on_tool[index] != 0;
      surface.normal = surface.face = surface_normal(solid, point, on_tool);
      surface.material =
          &scene.materials[static_cast<size_t>(on_tool ? solid.tool_material : solid.material)];
      surface.albedo = surface.material->pattern.colour(point);
      break;
    }
    case Thing::kImplicit: {
      surface.normal = surface.face = scene.implicits[which].normal(point);
      surface.material = &scene.materials[static_cast<size_t>(scene.implicits[which].material)];
      surface.albedo = surface.material->pattern.colour(point);
      break;
    }
    case Thing::kMesh:
      describe_mesh_surface(scene, hit, index, direction, spread, surface);
      break;
  }
  if (dot(surface.face, direction) > 0) surface.face = -surface.face;
  if (dot(surface.normal, surface.face) < 0) surface.normal = -surface.normal;
  surface.albedo = linear(surface.albedo);
  return surface;
}

/// Blinn's highlight: cos(angle between normal and the middle of light and viewer) ^ (2 ^ log_hardness).
float highlight(const Surface& surface, const Vec3& to_light, const Vec3& to_viewer) {
  float value = std::fmax(dot(surface.normal, normalized(to_light + to_viewer)), 0.0F);
  for (int i = 0; i < surface.material->log_hardness; ++i) value *= value;
  return value * surface.material->gloss;
}

struct Shading {
  std::array<Surface, kLanes> surfaces;  ///< only those of active lanes mean anything
  std::array<Vec3, kLanes> colours;      ///< linear
  Mask4 active;
};

void add_light(const Scene& scene, const Light& light, const Vec3x4& view_direction, Shading& shading) {
  Ray4 ray{};
  Float4 limit = splat(kNothing), strength{};
  Mask4 lit{};
  for (int i = 0; i < kLanes; ++i) {
    if (!shading.active[i]) continue;
    const Surface& surface = shading.surfaces[static_cast<size_t>(i)];
    const Vec3 offset = light.directional ? light.place : light.place - surface.point;
    const float distance = light.directional ? 1 : length(offset);
    const Vec3 direction = offset * (1 / distance);
    strength[i] = dot(surface.normal, direction);
    lit[i] = strength[i] > 0 && dot(surface.face, direction) > 0 ? -1 : 0;
    if (!light.directional) {
      limit[i] = distance;
      strength[i] *= dot(light.place, light.place) / (distance * distance);
    }
    const Vec3 start = surface.point + surface.face * 2e-3F;
    set_lane(ray.origin, i, start);
    set_lane(ray.direction, i, direction);
  }
  if (!any(lit)) return;
  lit &= ~occluded(scene, ray, lit, limit);
  for (int i = 0; i < kLanes; ++i) {
    if (!lit[i]) continue;
    const Surface& surface = shading.surfaces[static_cast<size_t>(i)];
    Vec3 reflected = surface.albedo * strength[i];
    if (surface.material->gloss > 0) {
      const float extra = highlight(surface, lane(ray.direction, i), -lane(view_direction, i));
      reflected = reflected + Vec3{extra, extra, extra};
    }
    Vec3& colour = shading.colours[static_cast<size_t>(i)];
    colour = colour + reflected * light.colour;
  }
}

}  // namespace

Vec3x4 Background::colours(const Vec3x4& directions) const {
  const Float4 share = smoothstep(directions.z * 0.5F + 0.5F);
  return splat(bottom) + splat(top - bottom) * share;
}

Vec3x4 seen_colours(const Scene& scene, const Ray4& ray, float spread) {
  const SceneHit hit = closest(scene, ray);
  const Vec3x4 points = ray.at(hit.distance);
  const Mask4 active = (hit.thing >= 0) & (length(points) < 2 * scene.fade_from);
  if (!any(active)) return scene.background.colours(ray.direction);
  Shading shading;
  shading.active = active;
  for (int i = 0; i < kLanes; ++i) {
    if (!active[i]) continue;
    Surface& surface = shading.surfaces[static_cast<size_t>(i)];
    surface = surface_at(scene, hit, i, lane(points, i), lane(ray.direction, i), spread);
    const Vec3 ambient = blend(scene.ambient_ground, scene.ambient_sky, surface.normal.z * 0.5F + 0.5F);
    shading.colours[static_cast<size_t>(i)] = surface.albedo * ambient;
  }
  for (const Light& light : scene.lights) add_light(scene, light, ray.direction, shading);
  Vec3x4 linear_colours{};
  for (int i = 0; i < kLanes; ++i) {
    if (active[i]) set_lane(linear_colours, i, shading.colours[static_cast<size_t>(i)]);
  }
  const Vec3x4 colours{shown(linear_colours.x), shown(linear_colours.y), shown(linear_colours.z)};
  const Float4 faded = smoothstep(length(points) * (1 / scene.fade_from) - 1.0F);
  const Float4 share = select(active, faded, splat(1));
  if (!any(share > 0)) return colours;
  return colours + (scene.background.colours(ray.direction) - colours) * share;
}

}  // namespace lact::data::tracer
