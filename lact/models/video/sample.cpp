#include "lact/models/video/sample.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/base/out_of_memory.h"
#include "lact/base/random.h"
#include "lact/ops/random/gaussian_noise.h"

namespace lact::models {

void SampleOptions::check() const {
  solver.check();
  LACT_CHECK(std::isfinite(guidance) && guidance >= 0, "[sample] guidance is {}, expected 0 or more",
             guidance);
}

VideoSampling VideoSampling::copy() const {
  VideoSampling other;
  other.prompt = prompt;
  other.negative = negative;
  other.options = options;
  other.seed = seed;
  other.with_prompt = with_prompt->copy();
  if (with_negative) other.with_negative = with_negative->copy();
  return other;
}

VideoSampling begin_sampling(VideoModel& model, const SampleOptions& options, int64_t seed) {
  options.check();
  VideoSampling sampling;
  sampling.options = options;
  sampling.seed = seed;
  sampling.with_prompt = model.initial_state(1);
  if (options.guided()) sampling.with_negative = model.initial_state(1);
  return sampling;
}

at::Tensor chunk_noise(at::IntArrayRef sizes, int64_t seed, int64_t index) {
  return ops::gaussian_noise(sizes, mix(uint64_t(seed), uint64_t(index)));
}

std::optional<at::Tensor> solve_flow(Solver& solver, const at::Tensor& noise, const Velocity& velocity,
                                     const OnStep& on_step) {
  at::NoGradGuard no_grad;
  at::Tensor sample = noise;
  while (!solver.done()) {
    sample = solver.step(velocity(sample, solver.timestep()), sample);
    if (on_step && !on_step(solver.position())) return std::nullopt;
  }
  return sample;
}

VideoSampler::VideoSampler(std::shared_ptr<VideoModel> model, VideoSampling sampling, at::Tensor text,
                           at::Tensor negative)
    : model_(std::move(model)),
      sampling_(std::move(sampling)),
      text_(std::move(text)),
      negative_(std::move(negative)) {
  sampling_.options.check();
  LACT_ASSERT(sampling_.with_prompt != nullptr);
  LACT_CHECK(model_->config().in_channels == model_->config().out_channels,
             "[sample] the model reads {} channels and answers with {}, but a video is sampled in as many as "
             "are read",
             model_->config().in_channels, model_->config().out_channels);
  LACT_CHECK(
      sampling_.with_negative || !sampling_.options.guided(),
      "[sample] guidance is {}, but the {} chunks so far were made without, and no memory was kept for "
      "the negative text",
      sampling_.options.guidance, sampling_.chunks());
  LACT_CHECK(text_.defined() && (negative_.defined() || !sampling_.with_negative),
             "[sample] a memory has no text to go with it");
}

at::Tensor VideoSampler::velocity(const at::Tensor& sample, double timestep) const {
  const at::Tensor time = at::full({1}, timestep, sample.options());
  const at::Tensor wanted = model_->denoise(*sampling_.with_prompt, sample, time, text_);
  if (!sampling_.options.guided()) return wanted;
  const at::Tensor unwanted = model_->denoise(*sampling_.with_negative, sample, time, negative_);
  return unwanted + sampling_.options.guidance * (wanted - unwanted);
}

std::optional<at::Tensor> VideoSampler::next_chunk(const OnStep& on_step) {
  at::NoGradGuard no_grad;
  const VideoConfig& config = model_->config();
  const auto solver = make_solver(sampling_.options.solver);
  const at::Tensor noise =
      chunk_noise({1, config.in_channels, config.chunk_frames, config.latent_height, config.latent_width},
                  sampling_.seed, sampling_.chunks());
  const auto chunk = making(fmt::format("chunk {} of the video", sampling_.chunks()), [&] {
    return solve_flow(
        *solver, noise, [&](const at::Tensor& sample, double time) { return velocity(sample, time); },
        on_step);
  });
  if (!chunk) return std::nullopt;
  if (!at::isfinite(*chunk).all().item<bool>())
    throw NonFinite(fmt::format("[sample] chunk {} is not made of finite numbers", sampling_.chunks()));
  model_->write(*sampling_.with_prompt, *chunk, text_);
  if (sampling_.with_negative) model_->write(*sampling_.with_negative, *chunk, negative_);
  return chunk;
}

}  // namespace lact::models
