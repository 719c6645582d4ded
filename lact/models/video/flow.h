// Flow matching: a noisy video is (1 - sigma) clean + sigma noise, and the model predicts the velocity
// noise - clean. Each chunk of a video has a noise level of its own. Here: how levels are drawn and weighted,
// and the teacher-forcing sequence [noisy₁ × repeats, clean₁, ..., noisy_N × repeats] of interleaved_layout.
//
// Shapes: videos [B, channels, frames, rows, columns]; noisy copies of them [B, repeats, channels, frames,
// rows, columns]; what belongs to each noisy chunk [B, repeats, chunks].
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace lact::models {

/// The model counts time from 0 (clean) to this (noise).
inline constexpr double kTrainingTimesteps = 1000;

/// At which time a chunk's weight is looked up: as it was drawn (the authors' code), or after the shift.
enum class WeightTime { unshifted, shifted };
constexpr std::array<std::pair<WeightTime, std::string_view>, 2> enum_names(WeightTime) {
  return {{{WeightTime::unshifted, "unshifted"}, {WeightTime::shifted, "shifted"}}};
}

/// The authors' shift for chunks of so many tokens: its logarithm is linear in them, 3 for the 32760 tokens
/// of a video of 480 x 832 pixels and 5 for the 73710 of one of 720 x 1280. 2.11 for their chunks of 4680.
double shift_of_chunk(int64_t tokens);

struct FlowOptions {
  double shift = 3;
  bool weighted = true;
  double weight_mean = 0.5;
  double weight_deviation = 1;
  WeightTime weight_time = WeightTime::unshifted;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("shift", shift, "time shift of the noise levels; above 1 there is more noise");
    field("weighted", weighted, "weight the loss of a chunk by the logit-normal density of its time");
    field("weight_mean", weight_mean,
          "mean of the logit-normal density (the paper's 0.5; the authors' code: 0)");
    field("weight_deviation", weight_deviation, "standard deviation of the logit-normal density");
    field("weight_time", weight_time, "time at which the density is taken: unshifted or shifted");
  }
  bool operator==(const FlowOptions&) const = default;

  void check() const;
};

/// shift · time / (1 + (shift - 1) · time) for times in [0, 1].
double shift_time(double time, double shift);
at::Tensor shift_time(const at::Tensor& time, double shift);

/// 1000 × the probability of [floor(t), floor(t) + 1] / 1000 where the logit is normal; timesteps in [0,
/// 1000].
at::Tensor logit_normal_weight(const at::Tensor& timesteps, double mean, double deviation);

/// (1 - sigma) clean + sigma noise; sigma is broadcast.
at::Tensor add_noise(const at::Tensor& clean, const at::Tensor& noise, const at::Tensor& sigma);

/// noise - clean
at::Tensor velocity_target(const at::Tensor& clean, const at::Tensor& noise);

/// The same from what the noise has made of it: (noisy - clean) / sigma. Sigma is taken to be at least
/// kLeastSigma, below which errors of `clean` would grow without bounds.
inline constexpr double kLeastSigma = 0.05;
at::Tensor velocity_towards(const at::Tensor& clean, const at::Tensor& noisy, const at::Tensor& sigma);

/// Uniform times in [0, 1), one for each noisy chunk: [B, repeats, chunks], float32, decided by the seed.
at::Tensor draw_times(int64_t batch, int64_t repeats, int64_t chunks, uint64_t seed);

/// One step of training: what the model reads, and what it should answer.
struct TeacherForcing {
  at::Tensor latents;    ///< [B, channels, parts × chunk_frames, rows, columns]
  at::Tensor timesteps;  ///< [B, parts], 0 for clean parts
  at::Tensor noisy;      ///< [B, repeats, channels, frames, rows, columns]
  at::Tensor target;     ///< the velocities, as `noisy`
  at::Tensor weight;     ///< [B, repeats, chunks]
};

/// `clean` is a video, `noise` its copies, `times` [B, repeats, chunks] are in [0, 1] before the shift.
TeacherForcing teacher_forcing(const at::Tensor& clean, const at::Tensor& noise, const at::Tensor& times,
                               const FlowOptions& options);

/// The sequence of a video and its noisy copies, chunk by chunk, without the last clean chunk.
at::Tensor interleave(const at::Tensor& clean, const at::Tensor& noisy, int64_t chunks);

/// What such a sequence says of the noisy parts: [B, channels, parts × chunk_frames, rows, columns] -> copies
/// [B, repeats, channels, frames, rows, columns].
at::Tensor extract_noisy(const at::Tensor& sequence, int64_t chunks, int64_t repeats);

}  // namespace lact::models
