// The loss of video diffusion: squared errors of the velocity, chunk by chunk.
#pragma once

#include <ATen/core/Tensor.h>

#include "lact/models/video/flow.h"

namespace lact::models {

/// Mean squared error of each noisy chunk: copies of videos [B, repeats, channels, frames, rows, columns] ->
/// [B, repeats, chunks], in float32 at least.
at::Tensor velocity_losses(const at::Tensor& predicted, const at::Tensor& target, int64_t chunks);

/// Mean of weight × loss over the noisy chunks of a batch; `sequence` is the model's answer to
/// batch.latents.
at::Tensor weighted_velocity_loss(const at::Tensor& sequence, const TeacherForcing& batch);

}  // namespace lact::models
