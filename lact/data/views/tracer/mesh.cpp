#include "lact/data/views/tracer/mesh.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lact/base/error.h"

namespace lact::data::tracer {

namespace {

using Place = std::array<float, 3>;

Place place_of(const Vec3& point) { return {point.x, point.y, point.z}; }

/// Every position that a face uses, moved and scaled into the unit ball with z up.
std::vector<Vec3> unit_positions(const MeshData& data, const std::string& name, Up up) {
  constexpr double kFar = 1e30;
  Vec<double> low{kFar, kFar, kFar}, high{-kFar, -kFar, -kFar};
  const auto each_corner = [&](auto action) {
    for (const MeshFace& face : data.faces) {
      for (const MeshCorner& corner : face.corners)
        action(data.positions[static_cast<size_t>(corner.position)]);
    }
  };
  each_corner([&](const Vec<double>& point) {
    low = {std::min(low.x, point.x), std::min(low.y, point.y), std::min(low.z, point.z)};
    high = {std::max(high.x, point.x), std::max(high.y, point.y), std::max(high.z, point.z)};
  });
  const Vec<double> centre = (low + high) * 0.5;
  double square = 0;
  each_corner(
      [&](const Vec<double>& point) { square = std::max(square, dot(point - centre, point - centre)); });
  LACT_CHECK(square > 0, "{}: all vertices of the mesh are at one place", name);
  const double scale = 1 / std::sqrt(square);
  std::vector<Vec3> result;
  for (const Vec<double>& point : data.positions) {
    const Vec<double> moved = (point - centre) * scale;
    const Vec3 unit{static_cast<float>(moved.x), static_cast<float>(moved.y), static_cast<float>(moved.z)};
    result.push_back(up == Up::kZ ? unit : Vec3{unit.x, -unit.z, unit.y});
  }
  return result;
}

/// Of twice the triangle's area and at right angles to it.
Vec3 area_normal(const Triangle& triangle) { return cross(triangle.edge_to_second, triangle.edge_to_third); }

Triangle triangle_of(const MeshFace& face, const std::vector<Vec3>& positions) {
  const auto at = [&](size_t corner) {
    return positions[static_cast<size_t>(face.corners[corner].position)];
  };
  return {at(0), at(1) - at(0), at(2) - at(0)};
}

float texel_density(const MeshSurface& surface, const Triangle& triangle, const MeshMaterial& material) {
  if (!material.texture) return 0;
  const auto& points = surface.texture_points;
  const float width = static_cast<float>(material.texture->full().width);
  const float height = static_cast<float>(material.texture->full().height);
  const float twice_texels = std::fabs((points[1][0] - points[0][0]) * (points[2][1] - points[0][1]) -
                                       (points[2][0] - points[0][0]) * (points[1][1] - points[0][1])) *
                             width * height;
  return std::sqrt(twice_texels / length(area_normal(triangle)));
}

constexpr size_t kMostAround = 1000;

/// A triangle's corners from the least on: the same for triangles that are one, whichever corner comes first.
/// The back of a triangle is another one.
std::array<Place, 3> canonical(const std::array<Vec3, 3>& corners) {
  std::array<Place, 3> places = {place_of(corners[0]), place_of(corners[1]), place_of(corners[2])};
  std::rotate(places.begin(), std::min_element(places.begin(), places.end()), places.end());
  return places;
}

struct LooseCorners {
  std::array<Vec3, 3> places;
  std::array<bool, 3> has_normal;
};

/// Normals of the corners that have none: the mean over faces around the same place, weighted by area, among
/// those that are within the crease. Places count, not indices: files repeat vertices along texture seams.
/// Where more than kMostAround faces meet, as in the middle of a fan, corners stay flat: each would have to
/// look at all.
void smooth_normals(const std::vector<Triangle>& triangles, const std::vector<LooseCorners>& corners,
                    float crease, std::vector<MeshSurface>& surfaces) {
  std::map<Place, std::vector<size_t>> around;
  const auto place = [&](size_t triangle, size_t corner) {
    return place_of(corners[triangle].places[corner]);
  };
  for (size_t triangle = 0; triangle < triangles.size(); ++triangle) {
    for (size_t corner = 0; corner < 3; ++corner) around[place(triangle, corner)].push_back(triangle);
  }
  for (size_t triangle = 0; triangle < triangles.size(); ++triangle) {
    const Vec3 own = normalized(area_normal(triangles[triangle]));
    for (size_t corner = 0; corner < 3; ++corner) {
      if (corners[triangle].has_normal[corner]) continue;
      const std::vector<size_t>& others = around[place(triangle, corner)];
      if (others.size() > kMostAround) {
        surfaces[triangle].normals[corner] = own;
        continue;
      }
      Vec3 sum{0, 0, 0};
      for (const size_t other : others) {
        const Vec3 normal = area_normal(triangles[other]);
        if (dot(own, normal) >= crease * length(normal)) sum = sum + normal;
      }
      surfaces[triangle].normals[corner] = length(sum) > 0 ? normalized(sum) : own;
    }
  }
}

bool has_colours(const std::vector<MeshMaterial>& materials) {
  const auto differs = [&](const MeshMaterial& material) {
    const Vec3 apart = material.colour - materials.front().colour;
    return material.texture || dot(apart, apart) > 0;
  };
  return std::any_of(materials.begin(), materials.end(), differs);
}

/// White where a corner has no colour of its own.
std::array<Vec3, 3> corner_colours(const MeshData& data, const MeshFace& face) {
  std::array<Vec3, 3> colours;
  for (size_t i = 0; i < 3; ++i) {
    const int index = face.corners[i].colour;
    colours[i] = index >= 0 ? data.colours[static_cast<size_t>(index)] : Vec3{1, 1, 1};
  }
  return colours;
}

}  // namespace

size_t Mesh::bytes() const {
  size_t total =
      tree.bytes() + surfaces.size() * sizeof(MeshSurface) + colours.size() * sizeof(colours.front());
  for (const MeshMaterial& material : materials) total += material.texture ? material.texture->bytes() : 0;
  return total;
}

std::shared_ptr<const Mesh> make_mesh(const MeshData& data, const std::string& name,
                                      const MeshOptions& options) {
  LACT_ASSERT(!data.materials.empty());
  LACT_CHECK(!data.faces.empty(), "{}: the mesh has no faces", name);
  const std::vector<Vec3> positions = unit_positions(data, name, options.up);
  std::vector<Triangle> triangles;
  std::vector<MeshSurface> surfaces;
  std::vector<LooseCorners> corners;
  std::vector<std::array<Vec3, 3>> colours;
  std::set<std::array<Place, 3>> seen;
  float lowest = 1;
  for (const MeshFace& face : data.faces) {
    const Triangle triangle = triangle_of(face, positions);
    const Vec3 across = area_normal(triangle);
    if (!(length(across) > 1e-12F)) continue;
    // A face that is there again shows nothing, and a tree cannot tell the two apart.
    const auto at = [&](size_t corner) {
      return positions[static_cast<size_t>(face.corners[corner].position)];
    };
    if (!seen.insert(canonical({at(0), at(1), at(2)})).second) continue;
    MeshSurface surface{};
    surface.material = face.material;
    surface.face = normalized(across);
    surface.normals.fill(surface.face);
    LooseCorners loose{{}, {true, true, true}};
    for (size_t i = 0; i < 3; ++i) {
      const MeshCorner& corner = face.corners[i];
      loose.places[i] = positions[static_cast<size_t>(corner.position)];
      lowest = std::min(lowest, loose.places[i].z);
      if (corner.texture >= 0)
        surface.texture_points[i] = data.texture_points[static_cast<size_t>(corner.texture)];
      if (!options.smooth) continue;
      const Vec3 normal =
          corner.normal >= 0 ? data.normals[static_cast<size_t>(corner.normal)] : Vec3{0, 0, 0};
      loose.has_normal[i] = length(normal) > 0;
      if (!loose.has_normal[i]) continue;
      surface.normals[i] = normalized(options.up == Up::kZ ? normal : Vec3{normal.x, -normal.z, normal.y});
    }
    surface.texels_per_length =
        texel_density(surface, triangle, data.materials[static_cast<size_t>(face.material)]);
    triangles.push_back(triangle);
    surfaces.push_back(surface);
    corners.push_back(loose);
    if (!data.colours.empty()) colours.push_back(corner_colours(data, face));
  }
  LACT_CHECK(!triangles.empty(), "{}: no face of the mesh has an area", name);
  smooth_normals(triangles, corners, options.crease, surfaces);
  Bvh tree(triangles);
  auto mesh = std::make_shared<Mesh>(Mesh{{}, {}, data.materials, std::move(tree), lowest});
  mesh->coloured = has_colours(data.materials) || !colours.empty();
  mesh->surfaces.reserve(surfaces.size());
  mesh->colours.reserve(colours.size());
  for (const int32_t index : mesh->tree.order()) {
    mesh->surfaces.push_back(surfaces[static_cast<size_t>(index)]);
    if (!colours.empty()) mesh->colours.push_back(colours[static_cast<size_t>(index)]);
  }
  return mesh;
}

}  // namespace lact::data::tracer
