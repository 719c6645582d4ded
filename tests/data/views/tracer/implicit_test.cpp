#include "lact/data/views/tracer/implicit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/views/tracer/rays.h"
#include "lact/data/views/tracer/draw.h"

namespace lact::data::tracer {
namespace {

using testing::expect_near;
using testing::ray_of;

float distance_along(const Implicit& implicit, const Vec3& origin, const Vec3& direction) {
  return first_hit(implicit, ray_of(origin, direction), splat_mask(true), splat(kNothing))[0];
}

Implicit torus() {
  Implicit ring;
  ring.shape = Shape::kTorus;
  ring.size = {0.6F, 0.2F, 0};
  ring.bound();
  return ring;
}

TEST(TracerImplicit, TorusHasAHole) {
  const Implicit ring = torus();
  EXPECT_NEAR(distance_along(ring, {3, 0, 0}, {-1, 0, 0}), 2.2F, 2e-3F);
  EXPECT_NEAR(distance_along(ring, {0.6F, 0, 3}, {0, 0, -1}), 2.8F, 2e-3F);
  EXPECT_EQ(distance_along(ring, {0, 0, 3}, {0, 0, -1}), kNothing);
  EXPECT_NEAR(distance_along(ring, {0, 0, 0}, {0, 1, 0}), 0.4F, 2e-3F) << "from the middle of the hole";
  expect_near(ring.normal({0, 0.6F, 0.2F}), {0, 0, 1}, 1e-3F);
}

TEST(TracerImplicit, RoundedBoxHasFlatFacesAndRoundCorners) {
  Implicit box;
  box.shape = Shape::kRoundedBox;
  box.size = {0.5F, 0.6F, 0.7F};
  box.rounding = 0.2F;
  box.centre = {0, 0, 1};
  box.bound();
  EXPECT_NEAR(distance_along(box, {3, 0.3F, 1.3F}, {-1, 0, 0}), 2.5F, 2e-3F);
  expect_near(box.normal({0.5F, 0.3F, 1.3F}), {1, 0, 0}, 1e-3F);
  // The corner is a ball about (0.3, 0.4, 0.5).
  const Vec3 diagonal = normalized(Vec3{1, 1, 1});
  const Vec3 corner = Vec3{0.3F, 0.4F, 1.5F} + diagonal * 0.2F;
  EXPECT_NEAR(box.distance_to(corner), 0, 1e-5F);
  expect_near(box.normal(corner), diagonal, 1e-2F);
}

TEST(TracerImplicit, BlobIsItsBallsWhereTheyAreApartAndMoreWhereTheyMeet) {
  Implicit blob;
  blob.shape = Shape::kBlob;
  blob.rounding = 0.2F;
  blob.num_balls = 2;
  blob.balls[0] = {{-0.3F, 0, 0}, 0.3F};
  blob.balls[1] = {{0.3F, 0, 0}, 0.3F};
  blob.bound();
  EXPECT_NEAR(blob.distance_to({-2, 0, 0}), 1.4F, 1e-5F);
  EXPECT_NEAR(blob.distance_to({0, 0, 0}), -0.05F, 1e-5F)
      << "the balls touch there; a quarter of the width is added";
}

TEST(TracerImplicit, HitsLieOnTheSurfaceAndWithinTheBounds) {
  Draw draw(3);
  int hits = 0;
  for (int attempt = 0; attempt < 300; ++attempt) {
    Implicit implicit;
    implicit.shape = static_cast<Shape>(draw.below(3));
    implicit.centre = draw.in_ball() * 0.3F;
    implicit.rotation = draw.rotation();
    implicit.size = {draw.between(0.4, 0.6), draw.between(0.15, 0.3), draw.between(0.2, 0.4)};
    implicit.rounding = draw.between(0.05, 0.14);
    implicit.num_balls = implicit.shape == Shape::kBlob ? 1 + draw.below(Implicit::kMaxBalls) : 0;
    for (Ball& ball : implicit.balls) ball = {draw.in_ball() * 0.4F, draw.between(0.1, 0.3)};
    implicit.bound();
    const Vec3 start = draw.direction() * 3;
    const Vec3 aim = draw.in_ball() * 0.5F;
    const Ray4 ray = ray_of(start, aim - start);
    const float found = first_hit(implicit, ray, splat_mask(true), splat(kNothing))[0];
    float nearest = kNothing, before = kNothing;
    for (float along = 1.5F; along < 5; along += 0.01F) {
      const float gap = implicit.distance_to(lane(ray.at(splat(along)), 0));
      nearest = std::fmin(nearest, gap);
      if (along < found - 0.02F) before = std::fmin(before, gap);
    }
    EXPECT_EQ(found < kNothing, nearest < 0 || found < kNothing) << "what steps find inside is met";
    if (found == kNothing) continue;
    ++hits;
    EXPECT_GT(before, -1e-3F) << "nothing comes earlier";
    const Vec3 point = lane(ray.at(splat(found)), 0);
    EXPECT_LT(std::fabs(implicit.distance_to(point)), 1e-3F);
    EXPECT_LE(length(point - implicit.bounds.centre), implicit.bounds.radius);
    EXPECT_LT(dot(implicit.normal(point), lane(ray.direction, 0)), 0.1F) << "the surface faces the ray";
  }
  EXPECT_GT(hits, 60);
}

TEST(TracerImplicit, OnlyActiveLanesAndNearerThanTheLimitCount) {
  const Implicit ring = torus();
  const Ray4 ray = ray_of({3, 0, 0}, {-1, 0, 0});
  const Float4 found = first_hit(ring, ray, Mask4{-1, 0, -1, 0}, Float4{kNothing, kNothing, 2.0F, 2.0F});
  EXPECT_LT(found[0], 3);
  EXPECT_EQ(found[1], kNothing);
  EXPECT_EQ(found[2], kNothing);
}

}  // namespace
}  // namespace lact::data::tracer
