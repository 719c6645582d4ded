#include "lact/data/views/preprocess.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "lact/base/error.h"
#include "lact/ops/images/lanczos.h"

namespace lact::data {

namespace {

struct CoverAndCrop {
  double scale = 1;
  int64_t height = 0, width = 0;  ///< after the resize
  int64_t top = 0, left = 0;      ///< of the part that stays
};

CoverAndCrop cover_and_crop(int64_t old_height, int64_t old_width, int64_t height, int64_t width) {
  LACT_CHECK(old_height >= 1 && old_width >= 1 && height >= 1 && width >= 1,
             "a picture of {} x {} pixels cannot be brought to {} x {}", old_width, old_height, width,
             height);
  CoverAndCrop plan;
  plan.scale = std::max(static_cast<double>(width) / static_cast<double>(old_width),
                        static_cast<double>(height) / static_cast<double>(old_height));
  // nearbyint: halves to even, as Python rounds.
  plan.width = static_cast<int64_t>(std::nearbyint(static_cast<double>(old_width) * plan.scale));
  plan.height = static_cast<int64_t>(std::nearbyint(static_cast<double>(old_height) * plan.scale));
  plan.left = (plan.width - width) / 2;
  plan.top = (plan.height - height) / 2;
  return plan;
}

}  // namespace

at::Tensor resize_and_crop(const at::Tensor& image, int64_t height, int64_t width) {
  LACT_CHECK(image.defined() && image.dim() == 3, "[resize_and_crop] the image has {} dimensions, expected 3",
             image.defined() ? image.dim() : 0);
  const CoverAndCrop plan = cover_and_crop(image.size(0), image.size(1), height, width);
  return ops::resize_lanczos(image, {plan.height, plan.top, height}, {plan.width, plan.left, width});
}

Camera resize_and_crop(const Camera& camera, int64_t height, int64_t width) {
  const CoverAndCrop plan = cover_and_crop(camera.height, camera.width, height, width);
  Camera result = camera;
  result.width = width;
  result.height = height;
  result.fx = camera.fx * plan.scale;
  result.fy = camera.fy * plan.scale;
  result.cx = camera.cx * plan.scale - static_cast<double>(plan.left);
  result.cy = camera.cy * plan.scale - static_cast<double>(plan.top);
  return result;
}

at::Tensor composite_on_white(const at::Tensor& image) {
  LACT_CHECK(image.defined() && image.scalar_type() == at::kByte && image.dim() == 3 &&
                 (image.size(2) == 3 || image.size(2) == 4),
             "[composite_on_white] the image is not uint8 (Byte) [H, W, 3] or [H, W, 4]");
  if (image.size(2) == 3) return image;
  const at::Tensor wide = image.to(at::kInt);
  const at::Tensor alpha = wide.narrow(2, 3, 1);
  const at::Tensor blend = wide.narrow(2, 0, 3) * alpha + 255 * (255 - alpha) + 128;
  return at::bitwise_right_shift(at::bitwise_right_shift(blend, 8) + blend, 8).to(at::kByte);
}

at::Tensor unit_planes(const at::Tensor& image) {
  return image.permute({2, 0, 1}).to(at::kFloat).div(255).contiguous();
}

void check_patches(int64_t height, int64_t width, int64_t patch) {
  LACT_CHECK(patch >= 1, "the patch is {} pixels wide, expected at least 1", patch);
  LACT_CHECK(
      height >= patch && width >= patch && height % patch == 0 && width % patch == 0,
      "the size {} x {} (height x width) is not divisible by the patch of {} pixels; the nearest that is: "
      "{} x {}",
      height, width, patch, std::max<int64_t>(1, (height + patch / 2) / patch) * patch,
      std::max<int64_t>(1, (width + patch / 2) / patch) * patch);
}

}  // namespace lact::data
