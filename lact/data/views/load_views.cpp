#include "lact/data/views/load_views.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/data/views/preprocess.h"
#include "lact/io/image.h"

namespace lact::data {

namespace {

/// The same camera, for a picture of another resolution.
Camera rescaled_to_picture(const Camera& camera, int64_t height, int64_t width, const std::string& path) {
  const double across = static_cast<double>(width) / static_cast<double>(camera.width);
  const double down = static_cast<double>(height) / static_cast<double>(camera.height);
  // A pixel of rounding on either side, or 1 %, is the same shape.
  const double slack = std::max(0.01, 1.5 / static_cast<double>(std::min(height, width)));
  LACT_CHECK(std::abs(across / down - 1) <= slack,
             "{}: the picture is {} x {} pixels, but its camera is for {} x {}, which has another shape",
             path, width, height, camera.width, camera.height);
  Camera result = camera;
  result.width = width;
  result.height = height;
  result.fx *= across;
  result.cx *= across;
  result.fy *= down;
  result.cy *= down;
  return result;
}

}  // namespace

DecodedView decode_view(const View& view) {
  at::Tensor image = io::read_image(view.image);
  const Camera camera = rescaled_to_picture(view.camera, image.size(0), image.size(1), view.image);
  if (view.distortion.none()) return {camera, image};
  const Camera straight = undistorted_camera(camera, view.distortion, view.image);
  return {straight, undistort(image, camera, view.distortion, straight)};
}

SizedView sized_view(const View& view, int64_t height, int64_t width) {
  const DecodedView decoded = decode_view(view);
  return {resize_and_crop(decoded.camera, height, width),
          composite_on_white(resize_and_crop(decoded.image, height, width)).contiguous(),
          decoded.camera.width != view.camera.width || decoded.camera.height != view.camera.height};
}

PosedImages ViewLoader::load(std::span<const int64_t> indices) {
  const auto count = static_cast<int64_t>(indices.size());
  for (const int64_t index : indices)
    LACT_CHECK(index >= 0 && index < static_cast<int64_t>(capture_.views.size()),
               "{}: view {} was asked for, but the scene has {} views", capture_.source, index,
               capture_.views.size());
  PosedImages result;
  result.cameras.resize(count);
  result.images.resize(count);
  std::vector<char> resized(count, 0);
  at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const SizedView view = sized_view(capture_.views[indices[i]], height_, width_);
      resized[i] = view.resized;
      result.cameras[i] = view.camera;
      result.images[i] = unit_planes(view.image);
    }
  });
  const auto first = std::find(resized.begin(), resized.end(), 1);
  if (first != resized.end() && !std::exchange(told_, true))
    log::info("{}: photos have another size than the camera file says, {} for one; their cameras are scaled",
              capture_.source, capture_.views[indices[first - resized.begin()]].image);
  return result;
}

PosedImages load_views(const Capture& capture, const std::vector<int64_t>& indices, int64_t height,
                       int64_t width) {
  return ViewLoader(capture, height, width).load(indices);
}

}  // namespace lact::data
