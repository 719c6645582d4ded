#include "lact/data/views/tracer/bvh.h"

#include <gtest/gtest.h>

#include "data/views/tracer/rays.h"
#include "lact/data/views/tracer/draw.h"

namespace lact::data::tracer {
namespace {

using testing::ray_of;

std::vector<Triangle> random_triangles(Draw& draw, int count, float size) {
  std::vector<Triangle> triangles;
  for (int i = 0; i < count; ++i)
    triangles.push_back({draw.in_ball(), draw.in_ball() * size, draw.in_ball() * size});
  return triangles;
}

/// Four rays close together, as those of a pixel, or with nothing in common.
Ray4 random_packet(Draw& draw, bool coherent) {
  Ray4 ray{};
  const Vec3 common_start = draw.direction() * 3;
  const Vec3 common_aim = draw.in_ball();
  for (int i = 0; i < kLanes; ++i) {
    const Vec3 start = coherent ? common_start : draw.in_ball() * 2;
    const Vec3 direction =
        coherent ? normalized(common_aim + draw.in_ball() * 0.02F - common_start) : draw.direction();
    set_lane(ray.origin, i, start);
    set_lane(ray.direction, i, direction);
  }
  return ray;
}

TEST(TracerBvh, TriangleIsMetWhereItsCornersSay) {
  const Triangle triangle{{0, 0, 0}, {1, 0, 0}, {0, 2, 0}};
  TriangleHit hit;
  meet_triangle(triangle, 9, ray_of({0.25F, 0.5F, 3}, {0, 0, -1}), splat_mask(true), hit);
  EXPECT_FLOAT_EQ(hit.distance[0], 3);
  EXPECT_EQ(hit.triangle[0], 9);
  EXPECT_FLOAT_EQ(hit.of_second[0], 0.25F);
  EXPECT_FLOAT_EQ(hit.of_third[0], 0.25F);
  TriangleHit below;
  meet_triangle(triangle, 9, ray_of({0.25F, 0.5F, -3}, {0, 0, 1}), splat_mask(true), below);
  EXPECT_FLOAT_EQ(below.distance[0], 3) << "both sides count";
  TriangleHit missed;
  meet_triangle(triangle, 9, ray_of({0.6F, 1, 3}, {0, 0, -1}), splat_mask(true), missed);
  meet_triangle(triangle, 9, ray_of({-1, 0.5F, 0}, {1, 0, 0}), splat_mask(true), missed);
  EXPECT_EQ(missed.triangle[0], -1) << "outside, and in its plane";
}

TEST(TracerBvh, TreeGivesWhatAllTrianglesGive) {
  Draw draw(11);
  int hits = 0;
  for (const int count : {1, 3, 17, 400, 3000}) {
    const std::vector<Triangle> triangles = random_triangles(draw, count, count < 100 ? 0.8F : 0.15F);
    const Bvh tree(triangles);
    for (int attempt = 0; attempt < 100; ++attempt) {
      const Ray4 ray = random_packet(draw, attempt % 2 == 0);
      const Mask4 active{-1, attempt % 3 == 0 ? 0 : -1, -1, -1};
      TriangleHit expected;
      for (int i = 0; i < count; ++i)
        meet_triangle(triangles[static_cast<size_t>(i)], i, ray, active, expected);
      TriangleHit found;
      tree.closest(ray, active, found);
      const Float4 limit = splat(2.5F);
      const Mask4 blocked = tree.occluded(ray, active, limit);
      for (int i = 0; i < kLanes; ++i) {
        ASSERT_EQ(found.triangle[i] >= 0, expected.triangle[i] >= 0);
        if (found.triangle[i] >= 0) {
          EXPECT_EQ(tree.order()[static_cast<size_t>(found.triangle[i])], expected.triangle[i]);
        }
        EXPECT_EQ(found.distance[i], expected.distance[i]);
        EXPECT_EQ(found.of_second[i], expected.of_second[i]);
        EXPECT_EQ(blocked[i] != 0, expected.distance[i] < 2.5F);
        hits += found.triangle[i] >= 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(hits, 300);
}

TEST(TracerBvh, ManyTrianglesAtOnePlaceAndFlatMeshesAreFine) {
  Draw draw(4);
  std::vector<Triangle> same(1000, Triangle{{-1, -1, 0}, {2, 0, 0}, {0, 2, 0}});
  TriangleHit hit;
  Bvh(same).closest(ray_of({-0.5F, -0.5F, 2}, {0, 0, -1}), splat_mask(true), hit);
  EXPECT_FLOAT_EQ(hit.distance[0], 2);
  std::vector<Triangle> flat = random_triangles(draw, 500, 0.3F);
  for (Triangle& triangle : flat)
    triangle.corner.z = triangle.edge_to_second.z = triangle.edge_to_third.z = 0;
  const Bvh tree(flat);
  for (int attempt = 0; attempt < 100; ++attempt) {
    const Ray4 ray = random_packet(draw, true);
    TriangleHit expected, found;
    for (int i = 0; i < 500; ++i)
      meet_triangle(flat[static_cast<size_t>(i)], i, ray, splat_mask(true), expected);
    tree.closest(ray, splat_mask(true), found);
    for (int i = 0; i < kLanes; ++i) EXPECT_EQ(found.triangle[i] >= 0, expected.triangle[i] >= 0);
  }
}

}  // namespace
}  // namespace lact::data::tracer
