#include "lact/data/views/load_views.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/data/views/preprocess.h"
#include "lact/io/exif.h"
#include "lact/io/image.h"
#include "lact/io/regular_file.h"

namespace lact::data {

namespace {

/// Whether a picture of this size can be what the camera sees, at some resolution.
bool has_shape_of(const Camera& camera, int64_t height, int64_t width) {
  const double across = static_cast<double>(width) / static_cast<double>(camera.width);
  const double down = static_cast<double>(height) / static_cast<double>(camera.height);
  // A pixel of rounding on either side, or 1 %, is the same shape.
  const double slack = std::max(0.01, 1.5 / static_cast<double>(std::min(height, width)));
  return std::abs(across / down - 1) <= slack;
}

/// The same camera, for a picture of another resolution.
Camera rescaled_to_picture(const Camera& camera, int64_t height, int64_t width, const std::string& path) {
  LACT_CHECK(has_shape_of(camera, height, width),
             "{}: the picture is {} x {} pixels, but its camera is for {} x {}, which has another shape",
             path, width, height, camera.width, camera.height);
  const double across = static_cast<double>(width) / static_cast<double>(camera.width);
  const double down = static_cast<double>(height) / static_cast<double>(camera.height);
  Camera result = camera;
  result.width = width;
  result.height = height;
  result.fx *= across;
  result.cx *= across;
  result.fy *= down;
  result.cy *= down;
  return result;
}

/// [H, W, 3 or 4] -> [H, W, 4], transparent where the mask is black.
at::Tensor with_mask(const at::Tensor& image, const std::string& path, const std::string& mask_path) {
  const at::Tensor mask = io::read_image(mask_path);
  LACT_CHECK(mask.size(0) == image.size(0) && mask.size(1) == image.size(1),
             "{}: the mask is {} x {} pixels, but {} is {} x {}", mask_path, mask.size(1), mask.size(0), path,
             image.size(1), image.size(0));
  const at::Tensor seen = mask.narrow(2, 0, 3).amax(2, /*keepdim=*/true).gt(0).to(at::kByte);
  const at::Tensor alpha = image.size(2) == 4 ? image.narrow(2, 3, 1) : at::full_like(seen, 255);
  return at::cat({image.narrow(2, 0, 3), alpha * seen}, 2);
}

}  // namespace

DecodedView decode_view(const View& view) {
  const std::string file = io::read_whole_file(view.image, io::kMaxImageFileBytes);
  at::Tensor image = io::decode_image(file, view.image);
  if (!view.mask.empty()) image = with_mask(image, view.image, view.mask);
  const int orientation = io::exif_orientation(file);
  const bool turned = io::is_turned_aside(orientation) &&
                      !has_shape_of(view.camera, image.size(0), image.size(1)) &&
                      has_shape_of(view.camera, image.size(1), image.size(0));
  if (turned) image = io::upright(image, orientation);
  const Camera camera = rescaled_to_picture(view.camera, image.size(0), image.size(1), view.image);
  if (view.distortion.none()) return {camera, image, turned};
  const Camera straight = undistorted_camera(camera, view.distortion, view.image);
  return {straight, undistort(image, camera, view.distortion, straight), turned};
}

SizedView sized_view(const View& view, int64_t height, int64_t width) {
  const DecodedView decoded = decode_view(view);
  return {resize_and_crop(decoded.camera, height, width),
          composite_on_white(resize_and_crop(decoded.image, height, width)).contiguous(),
          decoded.camera.width != view.camera.width || decoded.camera.height != view.camera.height,
          decoded.turned};
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
  std::vector<char> resized(count, 0), turned(count, 0);
  at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const SizedView view = sized_view(capture_.views[indices[i]], height_, width_);
      resized[i] = view.resized, turned[i] = view.turned;
      result.cameras[i] = view.camera;
      result.images[i] = unit_planes(view.image);
    }
  });
  const auto tell_once = [&](const std::vector<char>& which, bool& told, std::string_view what) {
    const auto first = std::find(which.begin(), which.end(), 1);
    if (first != which.end() && !std::exchange(told, true))
      log::info("{}: {}, {} for one", capture_.source, what,
                capture_.views[indices[first - which.begin()]].image);
  };
  tell_once(resized, told_size_,
            "photos have another size than the camera file says, so that their cameras are scaled");
  tell_once(turned, told_turn_, "photos are turned as their EXIF orientation says, to fit their cameras");
  return result;
}

PosedImages load_views(const Capture& capture, const std::vector<int64_t>& indices, int64_t height,
                       int64_t width) {
  return ViewLoader(capture, height, width).load(indices);
}

}  // namespace lact::data
