#include "lact/data/views/tracer/trace.h"

namespace lact::data::tracer {

namespace {

Bounds bounds_of(const MeshInstance& instance) { return {instance.centre, instance.scale * 1.0001F}; }

/// The ray in the mesh's own frame, in which its length along the ray is divided by the scale.
Ray4 mesh_ray(const MeshInstance& instance, const Ray4& ray) {
  const Mat3 back = instance.to_world.transposed();
  const float shrink = 1 / (instance.scale * instance.scale);
  const Vec3x4 origin = back * (ray.origin - splat(instance.centre));
  const Vec3x4 direction = back * ray.direction;
  return {origin * splat(shrink), direction * splat(1 / instance.scale)};
}

void take(SceneHit& hit, Mask4 nearer, Float4 distance, Thing thing, size_t index) {
  hit.distance = select(nearer, distance, hit.distance);
  hit.thing = select(nearer, Mask4{} + static_cast<int32_t>(thing), hit.thing);
  hit.index = select(nearer, Mask4{} + static_cast<int32_t>(index), hit.index);
}

}  // namespace

SceneHit closest(const Scene& scene, const Ray4& ray) {
  SceneHit hit;
  for (size_t i = 0; i < scene.solids.size(); ++i) {
    const Solid& solid = scene.solids[i];
    if (!any(solid.bounds.met_by(ray, hit.distance))) continue;
    const SolidHit found = first_hit(solid, ray);
    const Mask4 nearer = found.distance < hit.distance;
    take(hit, nearer, found.distance, Thing::kSolid, i);
    hit.on_tool = select(nearer, found.on_tool, hit.on_tool);
  }
  for (size_t i = 0; i < scene.implicits.size(); ++i) {
    const Implicit& implicit = scene.implicits[i];
    const Mask4 active = implicit.bounds.met_by(ray, hit.distance);
    if (!any(active)) continue;
    const Float4 distance = first_hit(implicit, ray, active, hit.distance);
    take(hit, distance < hit.distance, distance, Thing::kImplicit, i);
  }
  for (size_t i = 0; i < scene.meshes.size(); ++i) {
    const MeshInstance& instance = scene.meshes[i];
    const Mask4 active = bounds_of(instance).met_by(ray, hit.distance);
    if (!any(active)) continue;
    TriangleHit found = hit.triangle;
    found.distance = hit.distance * splat(1 / instance.scale);
    instance.mesh->tree.closest(mesh_ray(instance, ray), active, found);
    const Mask4 nearer = found.triangle >= 0;
    take(hit, nearer, found.distance * splat(instance.scale), Thing::kMesh, i);
    hit.triangle.triangle = select(nearer, found.triangle, hit.triangle.triangle);
    hit.triangle.of_second = select(nearer, found.of_second, hit.triangle.of_second);
    hit.triangle.of_third = select(nearer, found.of_third, hit.triangle.of_third);
  }
  return hit;
}

Mask4 occluded(const Scene& scene, const Ray4& ray, Mask4 active, Float4 limit) {
  Mask4 blocked{};
  for (const Solid& solid : scene.solids) {
    if (any(active & ~blocked & solid.bounds.met_by(ray, limit)))
      blocked |= first_hit(solid, ray).distance < limit;
  }
  for (const Implicit& implicit : scene.implicits) {
    const Mask4 open = active & ~blocked & implicit.bounds.met_by(ray, limit);
    if (any(open)) blocked |= first_hit(implicit, ray, open, limit) < limit;
  }
  for (const MeshInstance& instance : scene.meshes) {
    const Mask4 open = active & ~blocked & bounds_of(instance).met_by(ray, limit);
    if (!any(open)) continue;
    blocked |= instance.mesh->tree.occluded(mesh_ray(instance, ray), open, limit * splat(1 / instance.scale));
  }
  return blocked & active;
}

}  // namespace lact::data::tracer
