#include "lact/models/video/flow.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "lact/base/error.h"
#include "lact/base/random.h"

namespace lact::models {

namespace {

// The logit is infinite at 0 and 1.
constexpr double kClosestToEnd = 1e-7;

/// P(x <= time) where logit(x) is normal.
at::Tensor logit_normal_share(const at::Tensor& time, double mean, double deviation) {
  return at::special_ndtr((at::logit(time.clamp(kClosestToEnd, 1 - kClosestToEnd)) - mean) / deviation);
}

/// A number for each chunk, broadcast over the chunk's frames: [B, repeats, chunks] -> [B, repeats, 1,
/// frames, 1, 1].
at::Tensor over_frames(const at::Tensor& per_chunk, int64_t chunk_frames) {
  return per_chunk.repeat_interleave(chunk_frames, 2).unsqueeze(2).unsqueeze(-1).unsqueeze(-1);
}

void check_copies(const at::Tensor& clean, const at::Tensor& copies, int64_t chunks) {
  LACT_CHECK(clean.dim() == 5, "[flow] a video of shape {}, expected [B, channels, frames, rows, columns]",
             clean.sizes().vec());
  std::vector<int64_t> expected = clean.sizes().vec();
  expected.insert(expected.begin() + 1, copies.dim() == 6 ? copies.size(1) : 1);
  LACT_CHECK(copies.sizes() == expected && copies.size(1) > 0,
             "[flow] noisy copies of shape {}, expected [B, repeats, channels, frames, rows, columns] = {}",
             copies.sizes().vec(), expected);
  LACT_CHECK(chunks > 0 && clean.size(2) % chunks == 0, "[flow] {} frames do not divide into {} chunks",
             clean.size(2), chunks);
}

}  // namespace

double shift_of_chunk(int64_t tokens) {
  constexpr double kSmall = 32760, kLarge = 73710;
  const double low = std::log(3), high = std::log(5);
  return std::exp(low + (high - low) * (double(tokens) - kSmall) / (kLarge - kSmall));
}

void FlowOptions::check() const {
  LACT_CHECK(std::isfinite(shift) && shift > 0, "[flow] shift is {}, expected a number above 0", shift);
  LACT_CHECK(std::isfinite(weight_mean), "[flow] weight_mean is {}, expected a number", weight_mean);
  LACT_CHECK(std::isfinite(weight_deviation) && weight_deviation > 0,
             "[flow] weight_deviation is {}, expected a number above 0", weight_deviation);
}

double shift_time(double time, double shift) { return shift * time / (1 + (shift - 1) * time); }

at::Tensor shift_time(const at::Tensor& time, double shift) {
  return shift * time / (1 + (shift - 1) * time);
}

at::Tensor logit_normal_weight(const at::Tensor& timesteps, double mean, double deviation) {
  const at::Tensor from = timesteps.to(at::kDouble).floor().clamp(0, kTrainingTimesteps - 1);
  const at::Tensor below = logit_normal_share(from / kTrainingTimesteps, mean, deviation);
  const at::Tensor up_to = logit_normal_share((from + 1) / kTrainingTimesteps, mean, deviation);
  return (kTrainingTimesteps * (up_to - below)).to(timesteps.scalar_type());
}

at::Tensor add_noise(const at::Tensor& clean, const at::Tensor& noise, const at::Tensor& sigma) {
  return (1 - sigma) * clean + sigma * noise;
}

at::Tensor velocity_target(const at::Tensor& clean, const at::Tensor& noise) { return noise - clean; }

at::Tensor velocity_towards(const at::Tensor& clean, const at::Tensor& noisy, const at::Tensor& sigma) {
  return (noisy - clean) / sigma.clamp_min(kLeastSigma);
}

at::Tensor draw_times(int64_t batch, int64_t repeats, int64_t chunks, uint64_t seed) {
  at::Tensor times = at::empty({batch, repeats, chunks}, at::kFloat);
  Random random(seed);
  for (float *time = times.data_ptr<float>(), *end = time + times.numel(); time != end; ++time) {
    // Rounding to float32 may reach 1, which is no noise level of training.
    *time = std::min(float(random.uniform()), std::nextafter(1.F, 0.F));
  }
  return times;
}

TeacherForcing teacher_forcing(const at::Tensor& clean, const at::Tensor& noise, const at::Tensor& times,
                               const FlowOptions& options) {
  options.check();
  LACT_CHECK(times.dim() == 3, "[flow] times of shape {}, expected [B, repeats, chunks]",
             times.sizes().vec());
  const int64_t chunks = times.size(2);
  check_copies(clean, noise, chunks);
  LACT_CHECK(times.size(0) == clean.size(0) && times.size(1) == noise.size(1),
             "[flow] times of shape {} for {} copies of {} videos", times.sizes().vec(), noise.size(1),
             clean.size(0));
  const at::Tensor sigma = shift_time(times, options.shift);
  const at::Tensor copied = clean.unsqueeze(1);
  const at::Tensor weight_time = options.weight_time == WeightTime::shifted ? sigma : times;
  TeacherForcing batch;
  batch.noisy = add_noise(copied, noise, over_frames(sigma, clean.size(2) / chunks));
  batch.target = velocity_target(copied, noise);
  batch.latents = interleave(clean, batch.noisy, chunks);
  // One number per part is a video of one frame per chunk, with one channel and one place.
  const at::Tensor levels = (kTrainingTimesteps * sigma).unsqueeze(2).unsqueeze(-1).unsqueeze(-1);
  batch.timesteps = interleave(at::zeros_like(levels.select(1, 0)), levels, chunks).flatten(1);
  batch.weight = options.weighted ? logit_normal_weight(kTrainingTimesteps * weight_time, options.weight_mean,
                                                        options.weight_deviation)
                                  : at::ones_like(times);
  return batch;
}

at::Tensor interleave(const at::Tensor& clean, const at::Tensor& noisy, int64_t chunks) {
  check_copies(clean, noisy, chunks);
  const int64_t chunk_frames = clean.size(2) / chunks;
  // [B, channels, chunks, copies and the clean one, chunk_frames, rows, columns]
  const at::Tensor copies = noisy.unflatten(3, {chunks, chunk_frames}).permute({0, 2, 3, 1, 4, 5, 6});
  const at::Tensor last = clean.unflatten(2, {chunks, chunk_frames}).unsqueeze(3);
  const at::Tensor all = at::cat({copies, last}, 3).flatten(2, 4);
  return all.narrow(2, 0, all.size(2) - chunk_frames).contiguous();
}

at::Tensor extract_noisy(const at::Tensor& sequence, int64_t chunks, int64_t repeats) {
  const int64_t parts = chunks * (repeats + 1) - 1;
  LACT_CHECK(sequence.dim() == 5 && chunks > 0 && repeats > 0 && sequence.size(2) % parts == 0,
             "[flow] a sequence of shape {}, expected frames that divide into the {} parts of {} chunks with "
             "{} noisy copies",
             sequence.sizes().vec(), parts, chunks, repeats);
  const int64_t chunk_frames = sequence.size(2) / parts;
  std::vector<at::Tensor> copies;
  for (int64_t copy = 0; copy < repeats; ++copy) {
    std::vector<at::Tensor> pieces;
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      pieces.push_back(sequence.narrow(2, (chunk * (repeats + 1) + copy) * chunk_frames, chunk_frames));
    copies.push_back(at::cat(pieces, 2));
  }
  return at::stack(copies, 1);
}

}  // namespace lact::models
