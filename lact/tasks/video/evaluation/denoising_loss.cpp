#include "lact/tasks/video/evaluation/denoising_loss.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numeric>

#include "lact/base/error.h"
#include "lact/base/random.h"
#include "lact/data/clips/story_clips.h"
#include "lact/models/video/loss.h"
#include "lact/ops/random/gaussian_noise.h"

namespace lact::tasks::video {

namespace {

/// Clips on their way through a denoiser.
struct LatentClips {
  at::Tensor clean;  ///< [B, channels, frames, rows, columns]
  std::vector<std::string> captions;
  std::vector<data::ReappearanceRegions> regions;  ///< of made-up clips
};

LatentClips read_latent_clips(const data::ClipSource& source, const models::VideoCodec& codec, int64_t first,
                              int64_t count) {
  const auto* stories = dynamic_cast<const data::StoryClips*>(&source);
  LatentClips result;
  std::vector<at::Tensor> latents;
  for (int64_t i = first; i < first + count; ++i) {
    data::Clip clip;
    if (stories != nullptr) {
      data::ClipTruth truth = stories->clip_with_truth(uint64_t(i));
      result.regions.push_back(data::reappearance_regions(truth.visible, stories->options()));
      clip = std::move(truth.clip);
    } else {
      clip = source.clip(uint64_t(i));
    }
    latents.push_back(codec.encode(data::pixels_of_frames(clip.frames).unsqueeze(0)));
    result.captions.push_back(std::move(clip.caption));
  }
  result.clean = at::cat(latents);
  return result;
}

/// Patches of pixels are pixels; latents of an autoencoder are compared as they are.
at::Tensor compared(const models::VideoCodec& codec, const at::Tensor& latents) {
  const bool keeps_pixels = dynamic_cast<const models::PixelCodec*>(&codec) != nullptr;
  return keeps_pixels ? codec.decode(latents) : latents;
}

std::vector<double> numbers_of(const at::Tensor& values) {
  const at::Tensor plain = values.to(at::kCPU).to(at::kDouble).contiguous();
  return {plain.data_ptr<double>(), plain.data_ptr<double>() + plain.numel()};
}

std::vector<double> counted(size_t count) {
  std::vector<double> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

}  // namespace

Denoiser denoiser_of(std::shared_ptr<models::VideoModel> model, std::shared_ptr<models::TextEncoder> text) {
  return [model, text](const models::DenoisingProblem& problem, const std::vector<std::string>& captions) {
    at::NoGradGuard no_grad;
    return models::denoise_chunks(*model, problem, text->encode(captions));
  };
}

void DenoisingOptions::check() const {
  LACT_CHECK(!timesteps.empty(), "[eval] there is no timestep, expected at least one");
  for (const double timestep : timesteps)
    LACT_CHECK(timestep > 0 && timestep <= models::kTrainingTimesteps,
               "[eval] a timestep is {}, expected more than 0 and up to {}", timestep,
               models::kTrainingTimesteps);
  constexpr int64_t kMostClips = 1 << 20, kMostAtOnce = 1 << 12;
  LACT_CHECK(clips >= 1 && clips <= kMostClips, "[eval] clips is {}, expected 1 to {}", clips, kMostClips);
  LACT_CHECK(batch >= 1 && batch <= kMostAtOnce, "[eval] batch is {}, expected 1 to {}", batch, kMostAtOnce);
}

std::vector<double> DenoisingScore::by_chunk() const { return numbers_of(losses.flatten(0, 1).mean(0)); }

std::vector<double> DenoisingScore::by_chunk(int64_t timestep) const {
  return numbers_of(losses[timestep].mean(0));
}

std::vector<double> DenoisingScore::error_by_chunk() const {
  const at::Tensor of_clips = losses.mean(0);
  if (of_clips.size(0) < 2) return std::vector<double>(size_t(of_clips.size(1)), std::nan(""));
  return numbers_of(of_clips.std(0, /*unbiased=*/true) / std::sqrt(double(of_clips.size(0))));
}

double DenoisingScore::mean() const { return losses.mean().item<double>(); }

DenoisingScore denoising_score(const NamedDenoiser& denoiser, const data::ClipSource& clips,
                               const models::VideoCodec& codec, int64_t chunk_frames,
                               const DenoisingOptions& options,
                               const std::function<void(int64_t done, int64_t total)>& on_progress) {
  at::NoGradGuard no_grad;
  options.check();
  const size_t levels = options.timesteps.size();
  DenoisingScore score;
  score.name = denoiser.name;
  std::vector<at::Tensor> batches;  // [timesteps, B, chunks]
  for (int64_t first = 0; first < options.clips; first += options.batch) {
    const int64_t count = std::min(options.batch, options.clips - first);
    const LatentClips batch = read_latent_clips(clips, codec, first, count);
    LACT_CHECK(batch.clean.size(2) % chunk_frames == 0, "[eval] {} latent frames are not whole chunks of {}",
               batch.clean.size(2), chunk_frames);
    const int64_t chunks = batch.clean.size(2) / chunk_frames;
    std::vector<at::Tensor> noises;
    for (int64_t i = first; i < first + count; ++i)
      noises.push_back(ops::gaussian_noise(batch.clean[0].sizes(), mix(uint64_t(options.seed), uint64_t(i))));
    const at::Tensor noise = at::stack(noises), target = noise - batch.clean;
    const at::Tensor truth = compared(codec, batch.clean);
    if (!batch.regions.empty()) score.reappearance.resize(levels + 1);
    std::vector<at::Tensor> losses;
    for (size_t level = 0; level < levels; ++level) {
      const models::DenoisingProblem problem = {batch.clean, noise, options.timesteps[level]};
      const at::Tensor velocity = denoiser.velocity(problem, batch.captions);
      losses.push_back(
          models::velocity_losses(velocity.unsqueeze(1), target.unsqueeze(1), chunks).squeeze(1));
      const at::Tensor found = batch.regions.empty() ? truth : compared(codec, problem.found(velocity));
      for (size_t i = 0; i < batch.regions.size(); ++i)
        for (const size_t at : {level, levels})
          score.reappearance[at].add(batch.regions[i], truth[int64_t(i)], found[int64_t(i)]);
    }
    batches.push_back(at::stack(losses).to(at::kDouble));
    if (on_progress) on_progress(first + count, options.clips);
  }
  score.losses = at::cat(batches, 1);
  return score;
}

eval::Plot denoising_plot(const std::vector<DenoisingScore>& scores, const std::vector<double>& timesteps,
                          std::optional<int64_t> timestep) {
  eval::Plot plot;
  plot.title = timestep ? fmt::format("Denoising loss at timestep {:g}", timesteps.at(size_t(*timestep)))
                        : fmt::format("Denoising loss, mean of timesteps {:g}", fmt::join(timesteps, ", "));
  plot.x_label = "chunk";
  plot.y_label = "mean squared error of the velocity";
  for (const DenoisingScore& score : scores) {
    const auto losses = timestep ? score.by_chunk(*timestep) : score.by_chunk();
    plot.series.push_back({score.name, counted(losses.size()), losses});
  }
  return plot;
}

eval::Plot reappearance_plot(const std::vector<DenoisingScore>& scores) {
  eval::Plot plot;
  plot.title = "Error where things come back";
  plot.x_label = "whole chunks that the thing was away";
  plot.y_label = "mean squared error";
  for (const DenoisingScore& score : scores) {
    eval::Series series;
    series.name = score.name;
    for (const auto& [gap, error] : score.all_reappearance().by_gap()) {
      series.x.push_back(double(gap));
      series.y.push_back(error);
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

}  // namespace lact::tasks::video
