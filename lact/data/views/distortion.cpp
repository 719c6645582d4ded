#include "lact/data/views/distortion.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "lact/base/error.h"

namespace lact::data {

namespace {

constexpr double kNarrowest = 4, kWidest = 0.5;  // focal length of the straightened picture, relative
constexpr double kFocalStep = 0.995;
constexpr int kBorderSteps = 64;
constexpr int64_t kRowsPerPiece = 16;

/// 1 + k1 q + k2 q^2 + k3 q^3 + k4 q^4
double radial_factor(const Distortion& lens, double q) {
  return 1 + q * (lens.k1 + q * (lens.k2 + q * (lens.k3 + q * lens.k4)));
}

/// d/dr of r radial_factor(r^2): where it is not positive the lens folds the picture over.
double radial_slope(const Distortion& lens, double q) {
  return 1 + q * (3 * lens.k1 + q * (5 * lens.k2 + q * (7 * lens.k3 + q * 9 * lens.k4)));
}

/// Radius, or angle of a fisheye, that the polynomial of the lens is taken of.
double polynomial_argument(const Distortion& lens, double x, double y) {
  const double radius = std::hypot(x, y);
  return lens.model == LensModel::fisheye ? std::atan(radius) : radius;
}

bool folds_within(const Distortion& lens, double argument) {
  for (int i = 1; i <= kBorderSteps; ++i) {
    const double at = argument * i / kBorderSteps;
    if (radial_slope(lens, at * at) <= 0) return true;
  }
  return false;
}

/// Points all around the border of a picture.
std::vector<std::array<double, 2>> border_points(double width, double height) {
  std::vector<std::array<double, 2>> points;
  for (int i = 0; i <= kBorderSteps; ++i) {
    const double x = width * i / kBorderSteps, y = height * i / kBorderSteps;
    for (const auto& point : {std::array{x, 0.0}, {x, height}, {0.0, y}, {width, y}}) points.push_back(point);
  }
  return points;
}

std::array<double, 2> seen_at(const Camera& camera, const Distortion& lens, double x, double y) {
  const auto [u, v] = distort(lens, x, y);
  return {camera.fx * u + camera.cx, camera.fy * v + camera.cy};
}

/// Whether every point of the border of a picture with `zoom` times the focal length was photographed.
bool is_filled(const Camera& camera, const Distortion& lens, double zoom) {
  const auto width = static_cast<double>(camera.width), height = static_cast<double>(camera.height);
  double farthest = 0;
  for (const auto& [u, v] : border_points(width, height)) {
    const double x = (u - camera.cx) / (camera.fx * zoom), y = (v - camera.cy) / (camera.fy * zoom);
    farthest = std::max(farthest, polynomial_argument(lens, x, y));
    const auto [source_u, source_v] = seen_at(camera, lens, x, y);
    constexpr double kSlack = 1e-6;
    if (!(source_u >= -kSlack && source_u <= width + kSlack && source_v >= -kSlack &&
          source_v <= height + kSlack))
      return false;
  }
  return !folds_within(lens, farthest);
}

/// From 0 to `last`; 0 also for NaN.
double within(double place, int64_t last) {
  return place > 0 ? std::min(place, static_cast<double>(last)) : 0.0;
}

uint8_t nearest_byte(float value) { return static_cast<uint8_t>(value + 0.5f); }

/// The pixels of [H, W, channels], continued beyond the border.
template <int channels>
struct BilinearPicture {
  const uint8_t* pixels;
  int64_t height, width;

  /// At (u, v) between pixel centres; colours are weighed by alpha.
  void sample(double u, double v, uint8_t* result) const {
    const double x = within(u - 0.5, width - 1), y = within(v - 0.5, height - 1);
    const auto left = static_cast<int64_t>(x), top = static_cast<int64_t>(y);
    const int64_t right = std::min(left + 1, width - 1), bottom = std::min(top + 1, height - 1);
    const auto across = static_cast<float>(x - static_cast<double>(left));
    const auto down = static_cast<float>(y - static_cast<double>(top));
    const std::array<const uint8_t*, 4> corners = {
        pixels + (top * width + left) * channels, pixels + (top * width + right) * channels,
        pixels + (bottom * width + left) * channels, pixels + (bottom * width + right) * channels};
    const std::array<float, 4> shares = {(1 - across) * (1 - down), across * (1 - down), (1 - across) * down,
                                         across * down};
    std::array<float, 3> colour = {};
    float alpha = 0;
    for (int corner = 0; corner < 4; ++corner) {
      float weight = shares[corner];
      if constexpr (channels == 4) weight *= corners[corner][3];
      alpha += weight;
      for (int c = 0; c < 3; ++c) colour[c] += weight * corners[corner][c];
    }
    if constexpr (channels == 4) {
      const float scale = alpha > 0 ? 1 / alpha : 0;
      for (int c = 0; c < 3; ++c) result[c] = nearest_byte(std::min(colour[c] * scale, 255.f));
      result[3] = nearest_byte(alpha);
    } else {
      for (int c = 0; c < 3; ++c) result[c] = nearest_byte(colour[c]);
    }
  }
};

template <int channels>
void undistort_rows(const BilinearPicture<channels>& photo, const Camera& camera, const Distortion& lens,
                    const Camera& straight, uint8_t* target, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const double y = (static_cast<double>(row) + 0.5 - straight.cy) / straight.fy;
    for (int64_t column = 0; column < straight.width; ++column) {
      const double x = (static_cast<double>(column) + 0.5 - straight.cx) / straight.fx;
      const auto [u, v] = seen_at(camera, lens, x, y);
      photo.sample(u, v, target + (row * straight.width + column) * channels);
    }
  }
}

}  // namespace

Distortion radial_tangential(double k1, double k2, double k3, double k4, double p1, double p2) {
  Distortion lens{LensModel::radial_tangential, k1, k2, k3, k4, p1, p2};
  const bool zero = k1 == 0 && k2 == 0 && k3 == 0 && k4 == 0 && p1 == 0 && p2 == 0;
  return zero ? Distortion{} : lens;
}

std::string describe(const Distortion& distortion) {
  std::vector<std::string> parts;
  if (distortion.model == LensModel::fisheye) parts.emplace_back("fisheye");
  const std::pair<const char*, double> values[] = {{"k1", distortion.k1}, {"k2", distortion.k2},
                                                   {"k3", distortion.k3}, {"k4", distortion.k4},
                                                   {"p1", distortion.p1}, {"p2", distortion.p2}};
  for (const auto& [name, value] : values)
    if (value != 0) parts.push_back(fmt::format("{} = {:.4g}", name, value));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::array<double, 2> distort(const Distortion& lens, double x, double y) {
  if (lens.model == LensModel::pinhole) return {x, y};
  if (lens.model == LensModel::fisheye) {
    const double radius = std::hypot(x, y), angle = std::atan(radius);
    if (radius == 0) return {0, 0};
    const double scale = angle * radial_factor(lens, angle * angle) / radius;
    return {x * scale, y * scale};
  }
  const double q = x * x + y * y, factor = radial_factor(lens, q);
  return {x * factor + 2 * lens.p1 * x * y + lens.p2 * (q + 2 * x * x),
          y * factor + 2 * lens.p2 * x * y + lens.p1 * (q + 2 * y * y)};
}

Camera undistorted_camera(const Camera& camera, const Distortion& distortion, const std::string& where) {
  if (distortion.none()) return camera;
  LACT_CHECK(
      is_filled(camera, distortion, kNarrowest),
      "{}: the lens distortion ({}) is too strong to be removed: no pinhole picture fits into this one",
      where, describe(distortion));
  double zoom = kNarrowest;
  while (zoom * kFocalStep >= kWidest && is_filled(camera, distortion, zoom * kFocalStep)) zoom *= kFocalStep;
  double filled = zoom, empty = zoom * kFocalStep;
  for (int i = 0; i < 30; ++i) {
    const double middle = (filled + empty) / 2;
    (is_filled(camera, distortion, middle) ? filled : empty) = middle;
  }
  Camera straight = camera;
  straight.fx *= filled;
  straight.fy *= filled;
  return straight;
}

at::Tensor undistort(const at::Tensor& image, const Camera& camera, const Distortion& distortion,
                     const Camera& straight) {
  LACT_CHECK(image.dim() == 3 && image.scalar_type() == at::kByte && image.size(0) == camera.height &&
                 image.size(1) == camera.width && (image.size(2) == 3 || image.size(2) == 4),
             "[undistort] the image has shape {}, expected [{}, {}, 3] or [{}, {}, 4]", image.sizes().vec(),
             camera.height, camera.width, camera.height, camera.width);
  const at::Tensor source = image.contiguous();
  const int64_t channels = image.size(2);
  at::Tensor result = at::empty({straight.height, straight.width, channels}, at::kByte);
  const uint8_t* from = source.data_ptr<uint8_t>();
  uint8_t* to = result.data_ptr<uint8_t>();
  at::parallel_for(0, straight.height, kRowsPerPiece, [&](int64_t begin, int64_t end) {
    if (channels == 3)
      undistort_rows<3>({from, camera.height, camera.width}, camera, distortion, straight, to, begin, end);
    else
      undistort_rows<4>({from, camera.height, camera.width}, camera, distortion, straight, to, begin, end);
  });
  return result;
}

}  // namespace lact::data
