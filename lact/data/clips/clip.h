// A short video with its caption, and where such clips come from.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace lact::data {

struct Clip {
  at::Tensor frames;  ///< uint8 [F, 3, H, W]
  std::string caption;
  double fps = 0;
};

/// Size of the clips that a source gives.
struct ClipShape {
  int64_t frames = 49;
  int64_t height = 64;
  int64_t width = 64;
  bool operator==(const ClipShape&) const = default;

  /// Throws one sentence for a shape that cannot be.
  void check() const;
};

/// Clips to train on, and clips that are never trained on.
enum class ClipPart { train, valid };

/// The same clip for the same index, without end. Safe for several threads.
class ClipSource {
 public:
  virtual ~ClipSource() = default;

  virtual Clip clip(uint64_t index) const = 0;
  /// The clip's caption, without its pixels.
  virtual std::string caption(uint64_t index) const = 0;
  /// Clips of equal identity have equal pixels: for caches.
  virtual std::string identity(uint64_t index) const = 0;
  virtual ClipShape shape() const = 0;
};

/// uint8 [..., F, 3, H, W] -> float32 [..., 3, F, H, W] in [-1, 1], as models take pixels.
at::Tensor pixels_of_frames(const at::Tensor& frames);
/// The way back; what lies outside of [-1, 1] is cut off.
at::Tensor frames_of_pixels(const at::Tensor& pixels);

}  // namespace lact::data
