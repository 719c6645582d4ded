// What a video model makes of clips whose truth is known: each chunk denoised after the true chunks before
// it, or all chunks after the first ones made up by the model.
#pragma once

#include "lact/models/video/flow.h"
#include "lact/models/video/model.h"
#include "lact/models/video/sample.h"

namespace lact::models {

/// The noise levels of the paper's evaluation.
inline constexpr double kEvaluationTimesteps[] = {550, 650, 750, 850, 950};

/// A clean video [B, channels, frames, rows, columns] with the same noise level in every chunk.
struct DenoisingProblem {
  at::Tensor clean, noise;  ///< of one shape
  double timestep = 0;      ///< above 0, up to 1000

  TeacherForcing sequence(int64_t chunks) const;
  /// The clean video that a velocity of `clean`'s shape leads to in one step.
  at::Tensor found(const at::Tensor& velocity) const;
};

/// The model's velocity of every chunk, given the true ones before it: the shape of `clean`. No gradients.
at::Tensor denoise_chunks(VideoModel& model, const DenoisingProblem& problem, const at::Tensor& text);

/// `first` [B, channels, whole chunks, rows, columns] and what the model adds, `chunks` in all. `negative` is
/// needed where the options guide. Video `b` of the batch begins with the noise of seed + b.
at::Tensor continue_video(VideoModel& model, const at::Tensor& first, int64_t chunks,
                          const SampleOptions& options, int64_t seed, const at::Tensor& text,
                          const at::Tensor& negative = {});

}  // namespace lact::models
