// Example scenes, and cameras compared.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "lact/data/views/camera.h"
#include "support/places.h"

namespace lact::testing {

/// Three cameras and pictures of 8 x 8 pixels in every format; see generate.py there.
inline std::string example(const std::string& name) {
  return source_folder() + "/tests/data/views/examples/" + name;
}

inline void expect_same_camera(const data::Camera& found, const data::Camera& expected, double tolerance) {
  EXPECT_EQ(found.width, expected.width);
  EXPECT_EQ(found.height, expected.height);
  EXPECT_NEAR(found.fx, expected.fx, tolerance * expected.fx);
  EXPECT_NEAR(found.fy, expected.fy, tolerance * expected.fy);
  EXPECT_NEAR(found.cx, expected.cx, tolerance * expected.fx);
  EXPECT_NEAR(found.cy, expected.cy, tolerance * expected.fy);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      EXPECT_NEAR(found.camera_to_world[i][j], expected.camera_to_world[i][j], tolerance) << i << ", " << j;
}

}  // namespace lact::testing
