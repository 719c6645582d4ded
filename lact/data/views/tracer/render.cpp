#include "lact/data/views/tracer/render.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/data/views/tracer/trace.h"

namespace lact::data::tracer {

namespace {

constexpr int64_t kMaxRenderSide = 1 << 15;

void check_camera(const Camera& camera) {
  LACT_CHECK(camera.width >= 1 && camera.height >= 1 && camera.width <= kMaxRenderSide &&
                 camera.height <= kMaxRenderSide,
             "[render] the camera has {} x {} pixels, expected sides of 1 to {}", camera.width, camera.height,
             kMaxRenderSide);
  LACT_CHECK(camera.fx > 0 && camera.fy > 0 && std::isfinite(camera.fx) && std::isfinite(camera.fy),
             "[render] the camera has focal lengths {} and {}, expected positive ones", camera.fx, camera.fy);
}

Vec3x4 from_rows(const Camera& camera, int column) {
  const auto& rows = camera.camera_to_world;
  const auto at = static_cast<size_t>(column);
  return splat(Vec3{static_cast<float>(rows[0][at]), static_cast<float>(rows[1][at]),
                    static_cast<float>(rows[2][at])});
}

/// A camera in the numbers that the rays are made of.
struct RayMaker {
  Vec3x4 right, down, forward, place;
  double inverse_fx, inverse_fy, cx, cy;

  explicit RayMaker(const Camera& camera)
      : right(from_rows(camera, 0)),
        down(from_rows(camera, 1)),
        forward(from_rows(camera, 2)),
        place(from_rows(camera, 3)),
        inverse_fx(1 / camera.fx),
        inverse_fy(1 / camera.fy),
        cx(camera.cx),
        cy(camera.cy) {}

  Ray4 ray(double u, double v, Float4 du, Float4 dv) const {
    const Float4 x = splat(static_cast<float>((u - cx) * inverse_fx)) + du * static_cast<float>(inverse_fx);
    const Float4 y = splat(static_cast<float>((v - cy) * inverse_fy)) + dv * static_cast<float>(inverse_fy);
    return {place, normalized(right * x + down * y + forward)};
  }
};

// Four points of which no two share a row or a column: edges of every slope get soft.
const Float4 kSampleU = {0.375F, 0.875F, 0.125F, 0.625F};
const Float4 kSampleV = {0.125F, 0.375F, 0.625F, 0.875F};

}  // namespace

Ray4 camera_ray(const Camera& camera, float u, float v) {
  check_camera(camera);
  return RayMaker(camera).ray(u, v, Float4{}, Float4{});
}

void render_into(float* pixels, const Scene& scene, const Camera& camera, const RenderOptions& options) {
  check_camera(camera);
  LACT_ASSERT(!scene.materials.empty());
  LACT_CHECK(options.grid >= 1 && options.grid <= 16, "[render] grid is {}, expected 1 to 16", options.grid);
  const RayMaker maker(camera);
  const float step = 1 / static_cast<float>(options.grid);
  const float spread =
      0.5F * step * static_cast<float>(maker.inverse_fx);  // four samples: half a pixel each way
  const float share = step * step / kLanes;
  const Float4 du = kSampleU * step, dv = kSampleV * step;
  const int64_t plane = camera.width * camera.height;
  for (int64_t y = 0; y < camera.height; ++y) {
    for (int64_t x = 0; x < camera.width; ++x) {
      Vec3x4 sum{};
      for (int i = 0; i < options.grid * options.grid; ++i) {
        const double u = static_cast<double>(x) + (i % options.grid) * static_cast<double>(step);
        const double v = static_cast<double>(y) + (i / options.grid) * static_cast<double>(step);
        sum = sum + seen_colours(scene, maker.ray(u, v, du, dv), spread);
      }
      float* pixel = pixels + y * camera.width + x;
      for (const Float4& channel : {sum.x, sum.y, sum.z}) {
        *pixel = (channel[0] + channel[1] + channel[2] + channel[3]) * share;
        pixel += plane;
      }
    }
  }
}

at::Tensor render(const Scene& scene, const Camera& camera, const RenderOptions& options) {
  check_camera(camera);
  at::Tensor image = at::empty({3, camera.height, camera.width}, at::kFloat);
  render_into(image.data_ptr<float>(), scene, camera, options);
  return image;
}

PosedImages render_views(const Scene& scene, const std::vector<Camera>& cameras,
                         const RenderOptions& options) {
  PosedImages views{cameras, {}};
  for (const Camera& camera : cameras) views.images.push_back(render(scene, camera, options));
  return views;
}

}  // namespace lact::data::tracer
