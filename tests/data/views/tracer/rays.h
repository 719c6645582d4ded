// Rays for tests: four lanes that are alike, or four of their own.
#pragma once

#include <gtest/gtest.h>

#include "lact/data/views/tracer/vec.h"

namespace lact::testing {

inline data::tracer::Ray4 ray_of(const data::tracer::Vec3& origin, const data::tracer::Vec3& direction) {
  using data::tracer::splat;
  return {splat(origin), splat(data::tracer::normalized(direction))};
}

inline void expect_near(const data::tracer::Vec3& found, const data::tracer::Vec3& expected,
                        float tolerance) {
  EXPECT_NEAR(found.x, expected.x, tolerance);
  EXPECT_NEAR(found.y, expected.y, tolerance);
  EXPECT_NEAR(found.z, expected.z, tolerance);
}

}  // namespace lact::testing
