// A checkered cube under a sky, seen from a ring of cameras: pictures that a test can tell apart, in
// milliseconds.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <vector>

#include "lact/tasks/nvs/serving/frame_source.h"

namespace lact::testing {

/// A camera at `position` that looks at the origin; z is up.
inline data::Camera camera_towards_origin(std::array<double, 3> position, int64_t width, int64_t height) {
  using Vector = std::array<double, 3>;
  const auto unit = [](Vector vector) {
    const double length = std::hypot(vector[0], vector[1], vector[2]);
    return Vector{vector[0] / length, vector[1] / length, vector[2] / length};
  };
  const auto cross = [](const Vector& left, const Vector& right) {
    return Vector{left[1] * right[2] - left[2] * right[1], left[2] * right[0] - left[0] * right[2],
                  left[0] * right[1] - left[1] * right[0]};
  };
  const Vector forward = unit({-position[0], -position[1], -position[2]});
  const Vector right = unit(cross(forward, {0, 0, 1})), down = cross(forward, right);
  data::Camera camera{
      width, height, 1.2 * double(height), 1.2 * double(height), double(width) / 2, double(height) / 2};
  for (size_t i = 0; i < 3; ++i) camera.camera_to_world[i] = {right[i], down[i], forward[i], position[i]};
  camera.camera_to_world[3] = {0, 0, 0, 1};
  return camera;
}

class PaintedScene : public tasks::nvs::FrameSource {
 public:
  std::function<void(const data::Camera&)> before_render = [](const data::Camera&) {};

  tasks::nvs::SceneDescription describe() const override {
    tasks::nvs::SceneDescription scene;
    scene.name = "painted cube";
    scene.details = "12 input views";
    scene.full_side = 384;
    for (int i = 0; i < 12; ++i) {
      const double angle = 2 * M_PI * i / 12, height = i % 2 == 0 ? 0.9 : 1.6;
      scene.cameras.push_back(
          camera_towards_origin({2.6 * std::cos(angle), 2.6 * std::sin(angle), height}, 320, 240));
    }
    return scene;
  }

  at::Tensor render(const data::Camera& camera) override {
    before_render(camera);
    at::Tensor image = at::empty({camera.height, camera.width, 3}, at::kByte);
    auto* pixel = image.data_ptr<uint8_t>();
    for (int64_t row = 0; row < camera.height; ++row) {
      for (int64_t column = 0; column < camera.width; ++column, pixel += 3) paint(camera, row, column, pixel);
    }
    return image;
  }

 private:
  static constexpr double kHalf = 0.6;  // of the cube's edge

  static void paint(const data::Camera& camera, int64_t row, int64_t column, uint8_t* pixel) {
    const double x = (double(column) + 0.5 - camera.cx) / camera.fx,
                 y = (double(row) + 0.5 - camera.cy) / camera.fy;
    const auto& pose = camera.camera_to_world;
    double enter = 0, leave = 1e9, direction[3];
    size_t face = 0;
    for (size_t i = 0; i < 3; ++i) {
      direction[i] = pose[i][0] * x + pose[i][1] * y + pose[i][2];
      const double one = (-kHalf - pose[i][3]) / direction[i], other = (kHalf - pose[i][3]) / direction[i];
      if (std::min(one, other) > enter) {
        enter = std::min(one, other);
        face = i;
      }
      leave = std::min(leave, std::max(one, other));
    }
    const auto set = [&](double red, double green, double blue) {
      const double values[] = {red, green, blue};
      for (int i = 0; i < 3; ++i) pixel[i] = static_cast<uint8_t>(std::clamp(values[i], 0., 255.));
    };
    if (enter > 0 && enter < leave) {
      int checks = 0;
      for (size_t i = 0; i < 3; ++i) {
        if (i != face) checks += static_cast<int>(std::floor((pose[i][3] + enter * direction[i]) / 0.3));
      }
      const double shade = 150 + 35 * double(face) + (checks % 2 == 0 ? 50 : 0);
      return set(shade, face == 1 ? 0.55 * shade : 0.75 * shade, face == 0 ? 0.35 * shade : 0.5 * shade);
    }
    const double height = direction[2] / std::hypot(direction[0], direction[1], direction[2]);
    const double ground = (-kHalf - pose[2][3]) / direction[2];
    if (ground > 0) {
      const double line = std::floor(2 * (pose[0][3] + ground * direction[0])) +
                          std::floor(2 * (pose[1][3] + ground * direction[1]));
      const double fade = std::exp(-0.08 * ground), grey = std::fmod(std::abs(line), 2) == 0 ? 96 : 116;
      return set(fade * grey + (1 - fade) * 165, fade * grey + (1 - fade) * 180,
                 fade * (grey + 4) + (1 - fade) * 195);
    }
    set(165 - 110 * height, 180 - 80 * height, 195 + 20 * height);
  }
};

}  // namespace lact::testing
