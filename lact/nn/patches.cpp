#include "lact/nn/patches.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"

namespace lact::nn {

int64_t patches_of(int64_t height, int64_t width, int64_t patch) {
  LACT_CHECK(patch > 0 && height > 0 && width > 0 && height % patch == 0 && width % patch == 0,
             "[patchify] a picture of {} x {} pixels does not divide into patches of {} x {}", height, width,
             patch, patch);
  return (height / patch) * (width / patch);
}

at::Tensor patchify(const at::Tensor& images, int64_t patch) {
  LACT_CHECK(images.dim() == 5, "[patchify] the pictures have shape {}, expected [B, V, C, H, W]",
             images.sizes().vec());
  const int64_t batch = images.size(0), views = images.size(1), channels = images.size(2),
                height = images.size(3), width = images.size(4);
  const int64_t patches = patches_of(height, width, patch);
  return images.reshape({batch, views, channels, height / patch, patch, width / patch, patch})
      .permute({0, 1, 3, 5, 4, 6, 2})
      .reshape({batch, views * patches, patch * patch * channels});
}

at::Tensor unpatchify(const at::Tensor& tokens, int64_t views, int64_t height, int64_t width, int64_t patch) {
  const int64_t patches = patches_of(height, width, patch);
  LACT_CHECK(tokens.dim() == 3 && tokens.size(1) == views * patches && tokens.size(2) % (patch * patch) == 0,
             "[unpatchify] the tokens have shape {}, expected [B, {}, {} · channels]", tokens.sizes().vec(),
             views * patches, patch * patch);
  const int64_t batch = tokens.size(0), channels = tokens.size(2) / (patch * patch);
  return tokens.reshape({batch, views, height / patch, width / patch, patch, patch, channels})
      .permute({0, 1, 6, 2, 4, 3, 5})
      .reshape({batch, views, channels, height, width});
}

at::Tensor patchify(const at::Tensor& video, const VideoPatch& patch) {
  LACT_CHECK(video.dim() == 5, "[patchify] the video has shape {}, expected [B, C, F, H, W]",
             video.sizes().vec());
  const int64_t batch = video.size(0), channels = video.size(1), frames = video.size(2),
                height = video.size(3), width = video.size(4);
  LACT_CHECK(frames % patch.frames == 0 && height % patch.rows == 0 && width % patch.columns == 0,
             "[patchify] {} frames of {} x {} do not divide into patches of {} frames of {} x {}", frames,
             height, width, patch.frames, patch.rows, patch.columns);
  return video
      .reshape({batch, channels, frames / patch.frames, patch.frames, height / patch.rows, patch.rows,
                width / patch.columns, patch.columns})
      .permute({0, 2, 4, 6, 1, 3, 5, 7})
      .reshape({batch, -1, channels * patch.size()});
}

at::Tensor unpatchify(const at::Tensor& tokens, int64_t height, int64_t width, const VideoPatch& patch) {
  const int64_t rows = height / patch.rows, columns = width / patch.columns;
  LACT_CHECK(
      tokens.dim() == 3 && tokens.size(1) % (rows * columns) == 0 && tokens.size(2) % patch.size() == 0,
      "[unpatchify] the tokens have shape {}, expected [B, frames · {}, {} · channels]", tokens.sizes().vec(),
      rows * columns, patch.size());
  const int64_t batch = tokens.size(0), frames = tokens.size(1) / (rows * columns),
                channels = tokens.size(2) / patch.size();
  return tokens.reshape({batch, frames, rows, columns, patch.frames, patch.rows, patch.columns, channels})
      .permute({0, 7, 1, 4, 2, 5, 3, 6})
      .reshape({batch, channels, frames * patch.frames, height, width});
}

}  // namespace lact::nn
