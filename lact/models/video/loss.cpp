#include "lact/models/video/loss.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/ops/dispatch/dtypes.h"

namespace lact::models {

at::Tensor velocity_losses(const at::Tensor& predicted, const at::Tensor& target, int64_t chunks) {
  LACT_CHECK(predicted.dim() == 6 && predicted.sizes() == target.sizes(),
             "[flow] velocities of shape {}, expected those of the target {}", predicted.sizes().vec(),
             target.sizes().vec());
  LACT_CHECK(chunks > 0 && predicted.size(3) % chunks == 0, "[flow] {} frames do not divide into {} chunks",
             predicted.size(3), chunks);
  const auto type = ops::wide_type(predicted.scalar_type());
  const at::Tensor error = (predicted.to(type) - target.to(type)).square();
  return error.unflatten(3, {chunks, predicted.size(3) / chunks}).mean({2, 4, 5, 6});
}

at::Tensor weighted_velocity_loss(const at::Tensor& sequence, const TeacherForcing& batch) {
  const int64_t repeats = batch.weight.size(1), chunks = batch.weight.size(2);
  const at::Tensor losses = velocity_losses(extract_noisy(sequence, chunks, repeats), batch.target, chunks);
  return (batch.weight * losses).mean();
}

}  // namespace lact::models
