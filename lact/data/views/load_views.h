// Photos of a capture, decoded when they are needed.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lact/data/views/capture.h"

namespace lact::data {

struct DecodedView {
  Camera camera;        ///< of the picture below: its size, and a pinhole
  at::Tensor image;     ///< uint8 [H, W, 3 or 4]
  bool turned = false;  ///< as its EXIF orientation says
};

/// Decodes and straightens one photo. Where it has another size than the camera file says, the intrinsics are
/// scaled. Where it has another shape, it is turned as its EXIF orientation says, if that gives the camera's;
/// otherwise it is an error. (COLMAP and nerfstudio look at photos as they are stored, others upright.) What
/// a mask hides becomes transparent.
DecodedView decode_view(const View& view);

struct SizedView {
  Camera camera;
  at::Tensor image;      ///< uint8 [H, W, 3], on white where it was transparent
  bool resized = false;  ///< the photo has another size than the camera file says
  bool turned = false;   ///< as its EXIF orientation says

  size_t bytes() const { return image.nbytes() + sizeof(SizedView); }
};

/// The same, resized to cover `height` x `width` and cropped.
SizedView sized_view(const View& view, int64_t height, int64_t width);

/// Gives views in the order asked for, resized to cover `height` x `width`, cropped, on white. Says once that
/// photos have another size than the camera file states, or are turned.
class ViewLoader {
 public:
  /// `capture` must outlive the loader.
  ViewLoader(const Capture& capture, int64_t height, int64_t width)
      : capture_(capture), height_(height), width_(width) {}

  PosedImages load(std::span<const int64_t> indices);

 private:
  const Capture& capture_;
  int64_t height_, width_;
  bool told_size_ = false, told_turn_ = false;
};

/// All of them at once.
PosedImages load_views(const Capture& capture, const std::vector<int64_t>& indices, int64_t height,
                       int64_t width);

}  // namespace lact::data
