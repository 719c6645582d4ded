#include "lact/data/views/distortion.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lact/data/views/pose.h"
#include "support/errors.h"

namespace lact::data {
namespace {

Camera wide_camera() { return {160, 120, 110, 112, 82, 57, identity_pose()}; }

/// The brightness of a scene in the direction (x, y, 1): a grid with soft lines.
double grid_at(double x, double y) { return 128 + 60 * std::sin(14 * x) + 60 * std::sin(14 * y); }

/// Finds (x, y) with distort(x, y) = (u, v) by damped fixed-point steps.
std::array<double, 2> undistorted_point(const Distortion& lens, double u, double v) {
  double x = u, y = v;
  for (int i = 0; i < 200; ++i) {
    const auto [du, dv] = distort(lens, x, y);
    x += 0.7 * (u - du);
    y += 0.7 * (v - dv);
  }
  return {x, y};
}

at::Tensor photograph(const Camera& camera, const Distortion& lens) {
  at::Tensor image = at::empty({camera.height, camera.width, 3}, at::kByte);
  auto pixels = image.accessor<uint8_t, 3>();
  for (int64_t row = 0; row < camera.height; ++row) {
    for (int64_t column = 0; column < camera.width; ++column) {
      const auto [x, y] = undistorted_point(lens, (double(column) + 0.5 - camera.cx) / camera.fx,
                                            (double(row) + 0.5 - camera.cy) / camera.fy);
      for (int c = 0; c < 3; ++c) pixels[row][column][c] = static_cast<uint8_t>(std::lround(grid_at(x, y)));
    }
  }
  return image;
}

double mean_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kFloat) - b.to(at::kFloat)).abs().mean().item<double>();
}

TEST(Distortion, PointsByHand) {
  const Distortion lens = radial_tangential(0.1, 0.01, 0, 0, 0.02, 0.03);
  // x = 1, y = 2: q = 5, factor = 1 + 0.5 + 0.25 = 1.75
  const auto [u, v] = distort(lens, 1, 2);
  EXPECT_NEAR(u, 1.75 + 2 * 0.02 * 2 + 0.03 * (5 + 2), 1e-12);
  EXPECT_NEAR(v, 3.5 + 2 * 0.03 * 2 + 0.02 * (5 + 8), 1e-12);
  // A fisheye without coefficients: the angle itself. tan 45 degrees = 1.
  const auto [angle, zero] = distort({LensModel::fisheye, 0, 0, 0, 0, 0, 0}, 1, 0);
  EXPECT_NEAR(angle, std::atan(1.0), 1e-12);
  EXPECT_EQ(zero, 0);
  EXPECT_TRUE(radial_tangential(0, 0, 0, 0, 0, 0).none());
}

TEST(Distortion, AStraightenedGridIsTheGridOfAPinhole) {
  const Distortion lenses[] = {radial_tangential(-0.2, 0.03, 0, 0, 0.001, -0.002),
                               radial_tangential(0.15, -0.04, 0, 0, -0.002, 0.001),
                               radial_tangential(0.05, 0.01, 0.01, -0.002, 0, 0),
                               {LensModel::fisheye, -0.02, 0.003, 0, 0, 0, 0}};
  const Camera camera = wide_camera();
  for (const Distortion& lens : lenses) {
    SCOPED_TRACE(describe(lens));
    const at::Tensor photo = photograph(camera, lens);
    const Camera straight = undistorted_camera(camera, lens, "p");
    const at::Tensor expected = photograph(straight, {});
    EXPECT_LT(mean_difference(undistort(photo, camera, lens, straight), expected), 0.7);
    EXPECT_GT(mean_difference(photo, photograph(camera, {})), 3) << "the lens did nothing";
  }
}

TEST(Distortion, NoBorderIsEmptyAndNoneIsWasted) {
  const Camera camera = wide_camera();
  for (const double k1 : {-0.2, -0.05, 0.05, 0.2}) {
    const Distortion lens = radial_tangential(k1, 0, 0, 0, 0, 0);
    const Camera straight = undistorted_camera(camera, lens, "p");
    double least = 1e9;  // distance of the photographed border from what the new one needs
    for (int i = 0; i <= 1000; ++i) {
      for (const auto& [u, v] : {std::array{160 * i / 1000.0, 0.0},
                                 {160 * i / 1000.0, 120.0},
                                 {0.0, 120 * i / 1000.0},
                                 {160.0, 120 * i / 1000.0}}) {
        const auto [x, y] = distort(lens, (u - straight.cx) / straight.fx, (v - straight.cy) / straight.fy);
        const double source_u = camera.fx * x + camera.cx, source_v = camera.fy * y + camera.cy;
        least = std::min({least, source_u, 160 - source_u, source_v, 120 - source_v});
      }
    }
    EXPECT_NEAR(least, 0, 0.01) << k1;
  }
}

TEST(Distortion, TransparentColoursDoNotBleed) {
  Camera camera = wide_camera();
  at::Tensor image = at::zeros({120, 160, 4}, at::kByte);
  image.slice(1, 0, 80).select(2, 0).fill_(200);
  image.slice(1, 0, 80).select(2, 3).fill_(255);
  image.slice(1, 80, 160).select(2, 1).fill_(255);
  const Distortion lens = radial_tangential(-0.1, 0, 0, 0, 0, 0);
  const at::Tensor result = undistort(image, camera, lens, undistorted_camera(camera, lens, "p"));
  EXPECT_EQ(result.select(2, 1).masked_select(result.select(2, 3).gt(0)).max().item<int>(), 0);
}

TEST(Distortion, LensesThatFoldThePictureAreASentence) {
  EXPECT_SENTENCE(undistorted_camera(wide_camera(), radial_tangential(-80, 0, 0, 0, 0, 0), "photo.jpg"),
                  "photo.jpg: the lens distortion (k1 = -80) is too strong to be removed");
}

TEST(Distortion, IsDescribedByWhatIsNotZero) {
  EXPECT_EQ(describe(radial_tangential(0.0578, -0.0805, 0, 0, 0, 0.00016)),
            "k1 = 0.0578, k2 = -0.0805, p2 = 0.00016");
}

}  // namespace
}  // namespace lact::data
