#include "lact/data/views/tracer/solid.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/views/tracer/rays.h"
#include "lact/data/views/tracer/draw.h"

namespace lact::data::tracer {
namespace {

using testing::expect_near;
using testing::ray_of;

Solid placed(Form form, const Vec3& centre, const Vec3& size, float taper = 1) {
  return solid_of(Convex::placed(form, centre, Mat3{}, size, taper), 3);
}

float distance_along(const Solid& solid, const Vec3& origin, const Vec3& direction) {
  return first_hit(solid, ray_of(origin, direction)).distance[0];
}

TEST(TracerSolid, BallIsMetAtItsNearSide) {
  const Solid ball = placed(Form::kBall, {1, 2, 3}, {0.5F, 0.5F, 0.5F});
  EXPECT_NEAR(distance_along(ball, {1, 2, 0}, {0, 0, 1}), 2.5F, 1e-5F);
  // 0.3 off the axis: the half chord is 0.4.
  EXPECT_NEAR(distance_along(ball, {1.3F, 2, 0}, {0, 0, 1}), 2.6F, 1e-5F);
  EXPECT_EQ(distance_along(ball, {1.6F, 2, 0}, {0, 0, 1}), kNothing);
  EXPECT_EQ(distance_along(ball, {1, 2, 0}, {0, 0, -1}), kNothing) << "it lies behind the ray";
  expect_near(surface_normal(ball, {1, 2, 2.5F}, false), {0, 0, -1}, 1e-5F);
}

TEST(TracerSolid, EllipsoidHasItsAxesAndNormals) {
  const Solid ellipsoid = placed(Form::kBall, {0, 0, 0}, {2, 1, 0.5F});
  EXPECT_NEAR(distance_along(ellipsoid, {5, 0, 0}, {-1, 0, 0}), 3, 1e-5F);
  EXPECT_NEAR(distance_along(ellipsoid, {0, 5, 0}, {0, -1, 0}), 4, 1e-5F);
  EXPECT_NEAR(distance_along(ellipsoid, {0, 0, 5}, {0, 0, -1}), 4.5F, 1e-5F);
  // The gradient of x^2/4 + y^2 at (sqrt 2, 1/sqrt 2) is along (1/2, 1) sqrt 2.
  const float half = std::sqrt(0.5F);
  expect_near(surface_normal(ellipsoid, {2 * half, half, 0}, false), normalized(Vec3{0.5F, 1, 0}), 1e-5F);
}

TEST(TracerSolid, BoxIsMetOnItsFaces) {
  const Solid box = placed(Form::kBox, {0, 0, 0}, {1, 2, 3});
  EXPECT_NEAR(distance_along(box, {-5, 1.9F, 2.9F}, {1, 0, 0}), 4, 1e-5F);
  EXPECT_EQ(distance_along(box, {-5, 2.1F, 0}, {1, 0, 0}), kNothing);
  EXPECT_NEAR(distance_along(box, {-3, 0, 5}, {1, 0, -1}), 2 * std::sqrt(2.0F), 1e-4F);
  expect_near(surface_normal(box, {0.2F, -2, 0.1F}, false), {0, -1, 0}, 1e-6F);
}

TEST(TracerSolid, TubeHasASideAndTwoCaps) {
  const Solid cylinder = placed(Form::kTube, {0, 0, 0}, {1, 1, 2});
  EXPECT_NEAR(distance_along(cylinder, {-3, 0, 1}, {1, 0, 0}), 2, 1e-5F);
  EXPECT_NEAR(distance_along(cylinder, {0.5F, 0.5F, 9}, {0, 0, -1}), 7, 1e-4F);
  EXPECT_EQ(distance_along(cylinder, {0.8F, 0.8F, 9}, {0, 0, -1}), kNothing);
  expect_near(surface_normal(cylinder, {0.5F, 0.5F, 2}, false), {0, 0, 1}, 1e-5F);
  expect_near(surface_normal(cylinder, {0.6F, 0.8F, 1}, false), {0.6F, 0.8F, 0}, 1e-5F);
}

TEST(TracerSolid, ConeNarrowsUpwards) {
  const Solid cone = placed(Form::kTube, {0, 0, 0}, {1, 1, 1}, 0);  // radius (1 - z) / 2
  EXPECT_NEAR(distance_along(cone, {-3, 0, 0}, {1, 0, 0}), 2.5F, 1e-5F);
  EXPECT_NEAR(distance_along(cone, {0, 0, 5}, {0, 0, -1}), 4, 1e-3F) << "the tip";
  EXPECT_NEAR(distance_along(cone, {0.25F, 0, 5}, {0, 0, -1}), 4.5F, 1e-4F) << "its slope, from above";
  EXPECT_NEAR(distance_along(cone, {0.25F, 0, -5}, {0, 0, 1}), 4, 1e-4F) << "the cap, from below";
  EXPECT_EQ(distance_along(cone, {-3, 0, 1.2F}, {1, 0, 0}), kNothing) << "no mirrored cone above the tip";
  expect_near(surface_normal(cone, {0.5F, 0, 0}, false), normalized(Vec3{1, 0, 0.5F}), 1e-5F);
}

TEST(TracerSolid, HalfSpaceIsTheGround) {
  const Solid ground = placed(Form::kHalfSpace, {0, 0, -1}, {1, 1, 1});
  EXPECT_NEAR(distance_along(ground, {7, 7, 2}, {0, 0, -1}), 3, 1e-5F);
  EXPECT_EQ(distance_along(ground, {7, 7, 2}, {0, 0, 1}), kNothing);
  EXPECT_TRUE(any(ground.bounds.met_by(ray_of({900, 0, 2}, {1, 0, -0.001F}), splat(kNothing))));
}

TEST(TracerSolid, CutsShowTheToolInside) {
  Solid bowl = placed(Form::kBall, {0, 0, 0}, {1, 1, 1});
  bowl.tool = Convex::placed(Form::kBall, {0, 0, 0.5F}, Mat3{}, {0.8F, 0.8F, 0.8F});
  bowl.cut = Cut::kRemoveTool;
  const SolidHit from_above = first_hit(bowl, ray_of({0, 0, 5}, {0, 0, -1}));
  EXPECT_NEAR(from_above.distance[0], 5.3F, 1e-5F);
  EXPECT_TRUE(from_above.on_tool[0]);
  expect_near(surface_normal(bowl, {0, 0, -0.3F}, true), {0, 0, 1}, 1e-5F);
  const SolidHit from_below = first_hit(bowl, ray_of({0, 0, -5}, {0, 0, 1}));
  EXPECT_NEAR(from_below.distance[0], 4, 1e-5F);
  EXPECT_FALSE(from_below.on_tool[0]);
  // From the inside of the hollow one sees the other side of it.
  EXPECT_NEAR(distance_along(bowl, {0, 0, 0.1F}, {1, 0, 0}), std::sqrt(0.64F - 0.16F), 1e-5F);

  Solid lens = bowl;
  lens.cut = Cut::kKeepCommon;
  EXPECT_NEAR(distance_along(lens, {0, 0, 5}, {0, 0, -1}), 4, 1e-5F);
  EXPECT_NEAR(distance_along(lens, {0, 0, -5}, {0, 0, 1}), 4.7F, 1e-5F);
}

bool holds(const Convex& convex, const Vec3& point) {
  const Vec3 inner = convex.to_form * (point - convex.centre);
  const float radius = (1 + convex.taper) / 2 + (convex.taper - 1) / 2 * inner.z;
  switch (convex.form) {
    case Form::kBall:
      return dot(inner, inner) <= 1;
    case Form::kBox:
      return std::fabs(inner.x) <= 1 && std::fabs(inner.y) <= 1 && std::fabs(inner.z) <= 1;
    case Form::kTube:
      return std::fabs(inner.z) <= 1 && inner.x * inner.x + inner.y * inner.y <= radius * radius;
    case Form::kHalfSpace:
      return inner.z <= 0;
  }
  return false;
}

bool holds(const Solid& solid, const Vec3& point) {
  const bool in_tool = solid.cut != Cut::kNone && holds(solid.tool, point);
  if (solid.cut == Cut::kRemoveTool) return holds(solid.body, point) && !in_tool;
  return holds(solid.body, point) && (solid.cut == Cut::kNone || in_tool);
}

// Every form, cut and turned at random, is met where small steps along the ray first come to lie in it.
TEST(TracerSolid, FirstHitIsWhereStepsAlongTheRayEnter) {
  Draw draw(5);
  int hits = 0;
  for (int attempt = 0; attempt < 400; ++attempt) {
    const auto convex = [&] {
      const auto form = static_cast<Form>(draw.below(3));
      const Vec3 centre = draw.in_ball() * 0.4F;
      const Mat3 rotation = draw.rotation();
      const Vec3 size{draw.between(0.2, 0.8), draw.between(0.2, 0.8), draw.between(0.2, 0.8)};
      return Convex::placed(form, centre, rotation, size, draw.between(0, 1));
    };
    Solid solid = solid_of(convex(), 0);
    solid.tool = convex();
    solid.cut = static_cast<Cut>(draw.below(3));
    const Vec3 start = draw.direction() * 3;
    const Vec3 aim = draw.in_ball() * 0.7F;
    const Ray4 ray = ray_of(start, aim - start);
    const float found = first_hit(solid, ray).distance[0];
    constexpr float kStep = 0.002F;
    float stepped = kNothing;
    for (float along = 1; along < 5 && stepped == kNothing; along += kStep) {
      if (holds(solid, lane(ray.at(splat(along)), 0))) stepped = along;
    }
    if (stepped == kNothing) {
      // Only a corner thinner than a step may have been stepped over.
      if (found < kNothing) {
        EXPECT_FALSE(holds(solid, lane(ray.at(splat(found + kStep)), 0)));
      }
      continue;
    }
    ++hits;
    EXPECT_LE(found, stepped + 1e-3F);
    if (found < stepped - kStep - 1e-3F) {
      EXPECT_FALSE(holds(solid, lane(ray.at(splat(found + kStep)), 0)));
    }
    EXPECT_TRUE(any(solid.bounds.met_by(ray, splat(kNothing)))) << "the bounds hold the solid";
  }
  EXPECT_GT(hits, 100);
}

}  // namespace
}  // namespace lact::data::tracer
