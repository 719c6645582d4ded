#include "lact/data/views/tracer/mesh.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/views/tracer/rays.h"
#include "support/errors.h"

namespace lact::data::tracer {
namespace {

using testing::expect_near;
using testing::ray_of;

/// Two triangles that meet along the x axis: one in the plane z = 0, the other folded up by `slope`.
MeshData hinge(double slope) {
  MeshData data;
  data.positions = {{0, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, slope}};
  data.faces = {{{{{0}, {2}, {1}}}, 0}, {{{{0}, {1}, {3}}}, 0}};
  data.materials.resize(1);
  return data;
}

TEST(TracerMesh, IsMovedAndScaledIntoTheUnitBall) {
  MeshData data = hinge(0);
  data.positions = {
      {10, 10, 5}, {14, 10, 5}, {10, 8, 5}, {10, 12, 5}, {900, 900, 900}};  // the last one is unused
  const auto mesh = make_mesh(data, "hinge");
  // Bounding box 4 x 4: its centre is (12, 10, 5), the farthest corners are at (-2, +-2), 2 sqrt 2 away.
  TriangleHit hit;
  mesh->tree.closest(ray_of({-0.7F, 0.69F, 3}, {0, 0, -1}), splat_mask(true), hit);
  EXPECT_NEAR(hit.distance[0], 3, 1e-5F);
  EXPECT_NEAR(mesh->lowest, 0, 1e-6F);
  TriangleHit beside;
  mesh->tree.closest(ray_of({-0.72F, 0.69F, 3}, {0, 0, -1}), splat_mask(true), beside);
  EXPECT_EQ(beside.triangle[0], -1);
}

TEST(TracerMesh, YUpBecomesZUp) {
  MeshData data;
  data.positions = {{-1, 0, 0}, {1, 0, 0}, {0, 2, 0}};  // points up along y
  data.faces = {{{{{0}, {1}, {2}}}, 0}};
  data.materials.resize(1);
  MeshOptions options;
  options.up = Up::kY;
  const auto mesh = make_mesh(data, "triangle", options);
  EXPECT_NEAR(mesh->lowest, -std::sqrt(0.5F), 1e-5F);
  // z of the file, towards its viewer, becomes -y: right stays right.
  expect_near(mesh->surfaces[0].face, {0, -1, 0}, 1e-6F);
}

TEST(TracerMesh, GentleFoldsAreSmoothedAndSharpOnesKept) {
  const auto gentle = make_mesh(hinge(0.3), "hinge");
  const Vec3 shared = gentle->surfaces[0].normals[0];
  expect_near(shared, gentle->surfaces[1].normals[0], 1e-6F);
  EXPECT_GT(std::fabs(shared.y), 0.05F);
  expect_near(gentle->surfaces[0].normals[1], gentle->surfaces[0].face, 1e-6F);

  const auto sharp = make_mesh(hinge(5), "hinge");
  expect_near(sharp->surfaces[0].normals[0], sharp->surfaces[0].face, 1e-6F);

  MeshOptions flat;
  flat.smooth = false;
  const auto faceted = make_mesh(hinge(0.3), "hinge", flat);
  expect_near(faceted->surfaces[0].normals[0], faceted->surfaces[0].face, 1e-6F);
}

TEST(TracerMesh, VerticesThatFilesRepeatAreSmoothedTogether) {
  MeshData data = hinge(0.3);
  data.positions.insert(data.positions.end(), {data.positions[0], data.positions[1]});
  data.faces[1].corners[0].position = 4;
  data.faces[1].corners[1].position = 5;
  const auto mesh = make_mesh(data, "hinge");
  expect_near(mesh->surfaces[0].normals[0], mesh->surfaces[1].normals[0], 1e-6F);
}

TEST(TracerMesh, NormalsOfTheFileWin) {
  MeshData data = hinge(0.3);
  data.normals = {{0, 0, 2}};
  data.faces[0].corners[0].normal = 0;
  expect_near(make_mesh(data, "hinge")->surfaces[0].normals[0], {0, 0, 1}, 1e-6F);
}

TEST(TracerMesh, AFaceThatIsThereAgainIsLeftOutAndItsBackIsNot) {
  MeshData data = hinge(0.3);
  data.faces.push_back(data.faces[0]);
  data.faces.push_back({{{{2}, {1}, {0}}}, 0});  // the same from another corner on
  EXPECT_EQ(make_mesh(data, "hinge")->surfaces.size(), 2U);
  data.faces.push_back({{{{0}, {1}, {2}}}, 0});  // its back
  EXPECT_EQ(make_mesh(data, "hinge")->surfaces.size(), 3U);
}

TEST(TracerMesh, ManyIdenticalFacesTakeNoLongerThanOne) {
  MeshData data = hinge(0.3);
  data.faces.resize(200'002, data.faces[1]);
  EXPECT_EQ(make_mesh(data, "hinge")->surfaces.size(), 2U);
}

TEST(TracerMesh, AFanOfManyFacesIsMadeInTimeThatGrowsWithTheirNumber) {
  constexpr int kCorners = 300'000;
  MeshData data;
  data.materials.resize(1);
  data.positions.push_back({0, 0, 1});
  for (int i = 0; i <= kCorners; ++i) {
    const double angle = 6.28 * i / kCorners;
    data.positions.push_back({1000 * std::cos(angle), 1000 * std::sin(angle), 0});
  }
  for (int i = 1; i <= kCorners; ++i) data.faces.push_back({{{{0}, {i}, {i + 1}}}, 0});
  const auto mesh = make_mesh(data, "fan");
  EXPECT_GT(mesh->surfaces.size(), 290'000U);
  for (const auto& surface : mesh->surfaces) ASSERT_GT(surface.normals[0].z, 0.9F);
  TriangleHit hit;
  mesh->tree.closest(ray_of({0.3F, 0.4F, 3}, {0, 0, -1}), splat_mask(true), hit);
  EXPECT_GE(hit.triangle[0], 0);
}

TEST(TracerMesh, FacesWithoutAreaAreLeftOut) {
  MeshData data = hinge(0);
  data.faces.push_back({{{{0}, {0}, {1}}}, 0});
  EXPECT_EQ(make_mesh(data, "hinge")->surfaces.size(), 2U);
  data.faces = {data.faces.back()};
  EXPECT_SENTENCE(make_mesh(data, "thin.obj"), "thin.obj: no face of the mesh has an area");
  data.faces = {{{{{0}, {0}, {0}}}, 0}};
  EXPECT_SENTENCE(make_mesh(data, "point.obj"), "point.obj: all vertices of the mesh are at one place");
  data.faces.clear();
  EXPECT_SENTENCE(make_mesh(data, "empty.obj"), "empty.obj: the mesh has no faces");
}

}  // namespace
}  // namespace lact::data::tracer
