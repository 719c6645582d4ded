#include "lact/data/clips/clip.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"

namespace lact::data {

void ClipShape::check() const {
  constexpr int64_t kMaxFrames = 1 << 20, kMaxSide = 8192, kMaxBytes = int64_t{1} << 34;
  const auto within = [](int64_t value, int64_t most) { return value >= 1 && value <= most; };
  LACT_CHECK(
      within(frames, kMaxFrames) && within(height, kMaxSide) && within(width, kMaxSide) &&
          frames <= kMaxBytes / (3 * height * width),
      "a clip of {} frames of {} x {} pixels (width x height) cannot be made: all must be positive and "
      "the clip have at most {} bytes",
      frames, width, height, kMaxBytes);
}

at::Tensor pixels_of_frames(const at::Tensor& frames) {
  LACT_CHECK(frames.scalar_type() == at::kByte && frames.dim() >= 4 && frames.size(-3) == 3,
             "[pixels_of_frames] the frames have shape {}, expected bytes [..., F, 3, H, W]",
             frames.sizes().vec());
  return frames.transpose(-4, -3).to(at::kFloat).mul_(2.0 / 255).sub_(1).contiguous();
}

at::Tensor frames_of_pixels(const at::Tensor& pixels) {
  LACT_CHECK(pixels.is_floating_point() && pixels.dim() >= 4 && pixels.size(-4) == 3,
             "[frames_of_pixels] the pixels have shape {}, expected numbers [..., 3, F, H, W]",
             pixels.sizes().vec());
  const at::Tensor levels = pixels.detach().to(at::kFloat).clamp(-1, 1).add_(1).mul_(127.5).round_();
  return levels.to(at::kByte).transpose(-4, -3).contiguous();
}

}  // namespace lact::data
