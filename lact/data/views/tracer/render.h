// Scenes through cameras.
#pragma once

#include "lact/data/views/camera.h"
#include "lact/data/views/tracer/scene.h"

namespace lact::data::tracer {

struct RenderOptions {
  int grid = 1;  ///< 4 grid^2 samples for each pixel
};

/// Planar float32 [3, H, W] in [0, 1] at `pixels`. The same bits for the same scene and camera.
void render_into(float* pixels, const Scene& scene, const Camera& camera, const RenderOptions& options = {});

at::Tensor render(const Scene& scene, const Camera& camera, const RenderOptions& options = {});

PosedImages render_views(const Scene& scene, const std::vector<Camera>& cameras,
                         const RenderOptions& options = {});

/// The ray of a camera through the point (u, v) of its picture, in all lanes alike.
Ray4 camera_ray(const Camera& camera, float u, float v);

}  // namespace lact::data::tracer
