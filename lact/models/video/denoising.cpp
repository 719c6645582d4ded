#include "lact/models/video/denoising.h"

#include <ATen/ATen.h>

#include <utility>

#include "lact/base/error.h"

namespace lact::models {

namespace {

int64_t whole_chunks_of(const at::Tensor& video, int64_t chunk_frames) {
  LACT_CHECK(
      video.dim() == 5 && video.size(2) > 0 && video.size(2) % chunk_frames == 0,
      "[video] a video of shape {}, expected [B, channels, frames, rows, columns] with a multiple of {} "
      "frames",
      video.sizes().vec(), chunk_frames);
  return video.size(2) / chunk_frames;
}

at::Tensor noise_of_batch(std::vector<int64_t> sizes, int64_t seed, int64_t chunk) {
  const int64_t batch = std::exchange(sizes[0], 1);
  std::vector<at::Tensor> all;
  for (int64_t i = 0; i < batch; ++i) all.push_back(chunk_noise(sizes, seed + i, chunk));
  return at::cat(all);
}

}  // namespace

TeacherForcing DenoisingProblem::sequence(int64_t chunks) const {
  LACT_CHECK(timestep > 0 && timestep <= kTrainingTimesteps, "[video] timestep is {}, expected up to {}",
             timestep, kTrainingTimesteps);
  FlowOptions options;
  options.shift = 1;  // the timestep is the noise level itself
  options.weighted = false;
  const at::Tensor times = at::full({clean.size(0), 1, chunks}, timestep / kTrainingTimesteps, at::kFloat);
  return teacher_forcing(clean, noise.unsqueeze(1), times, options);
}

at::Tensor DenoisingProblem::found(const at::Tensor& velocity) const {
  const double sigma = timestep / kTrainingTimesteps;
  return (1 - sigma) * clean + sigma * (noise - velocity);
}

at::Tensor denoise_chunks(VideoModel& model, const DenoisingProblem& problem, const at::Tensor& text) {
  at::NoGradGuard no_grad;
  const int64_t chunks = whole_chunks_of(problem.clean, model.config().chunk_frames);
  const TeacherForcing batch = problem.sequence(chunks);
  const at::Tensor answer = model.forward(batch.latents, batch.timesteps, text, /*noise_repeats=*/1);
  return extract_noisy(answer, chunks, /*repeats=*/1).squeeze(1);
}

at::Tensor continue_video(VideoModel& model, const at::Tensor& first, int64_t chunks,
                          const SampleOptions& options, int64_t seed, const at::Tensor& text,
                          const at::Tensor& negative) {
  at::NoGradGuard no_grad;
  options.check();
  const int64_t chunk_frames = model.config().chunk_frames, batch = first.size(0);
  const int64_t given = whole_chunks_of(first, chunk_frames);
  LACT_CHECK(!options.guided() || negative.defined(), "[video] guidance needs a negative text");
  const auto wanted = model.initial_state(batch);
  const auto unwanted = options.guided() ? model.initial_state(batch) : nullptr;
  std::vector<at::Tensor> all;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    if (chunk < given) {
      all.push_back(first.narrow(2, chunk * chunk_frames, chunk_frames));
    } else {
      const auto solver = make_solver(options.solver);
      const auto velocity = [&](const at::Tensor& sample, double timestep) {
        const at::Tensor time = at::full({batch}, timestep, sample.options());
        const at::Tensor with = model.denoise(*wanted, sample, time, text);
        if (!unwanted) return with;
        const at::Tensor without = model.denoise(*unwanted, sample, time, negative);
        return without + options.guidance * (with - without);
      };
      all.push_back(*solve_flow(*solver, noise_of_batch(all.front().sizes().vec(), seed, chunk), velocity));
    }
    model.write(*wanted, all.back(), text);
    if (unwanted) model.write(*unwanted, all.back(), negative);
  }
  return at::cat(all, 2);
}

}  // namespace lact::models
