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

}  // namespace lact::nn
