#include "lact/models/video/denoising.h"

#include <gtest/gtest.h>

#include "lact/models/video/flow.h"
#include "support/errors.h"
#include "support/tiny_video.h"

namespace lact::models {
namespace {

using lact::testing::kVideoMixers;
using lact::testing::make_precise_video;
using lact::testing::make_video;
using lact::testing::part_of;
using lact::testing::tiny_video;

at::Tensor random_video(const VideoConfig& config, int64_t chunks, int64_t batch, at::ScalarType type) {
  return at::randn(
      {batch, config.in_channels, chunks * config.chunk_frames, config.latent_height, config.latent_width},
      type);
}

TEST(Denoising, EveryChunkIsDenoisedAfterTheTrueOnesBeforeIt) {
  for (const MixerKind mixer : kVideoMixers) {
    const VideoConfig config = tiny_video(mixer);
    const auto model = make_precise_video(config);
    DenoisingProblem problem = {random_video(config, 3, 2, at::kDouble),
                                random_video(config, 3, 2, at::kDouble), 650};
    const at::Tensor text = at::randn({2, config.text_length, config.text_dim}, at::kDouble);
    const at::Tensor velocity = denoise_chunks(*model, problem, text);
    ASSERT_EQ(velocity.sizes(), problem.clean.sizes());
    const at::Tensor noisy = add_noise(problem.clean, problem.noise, at::full({}, 0.65, at::kDouble));
    const auto state = model->initial_state(2);
    for (int64_t chunk = 0; chunk < 3; ++chunk) {
      const at::Tensor stepwise =
          model->denoise(*state, part_of(noisy, config, chunk), at::full({2}, 650, at::kDouble), text);
      EXPECT_LT((part_of(velocity, config, chunk) - stepwise).abs().max().item<double>(), 1e-4) << chunk;
      model->write(*state, part_of(problem.clean, config, chunk), text);
    }
  }
}

TEST(Denoising, TheTrueVelocityLeadsToTheCleanVideo) {
  const VideoConfig config = tiny_video();
  const DenoisingProblem problem = {random_video(config, 2, 1, at::kDouble),
                                    random_video(config, 2, 1, at::kDouble), 850};
  EXPECT_TRUE(at::allclose(problem.found(problem.noise - problem.clean), problem.clean));
  const at::Tensor wrong = problem.noise - problem.clean + 1;
  EXPECT_TRUE(at::allclose(problem.found(wrong), problem.clean - 0.85));
}

TEST(Denoising, AVideoGoesOnAsItWouldHaveBeenSampled) {
  const VideoConfig config = tiny_video();
  const auto model = make_video(config);
  const at::Tensor text = at::randn({1, config.text_length, config.text_dim});
  const at::Tensor negative = at::randn({1, config.text_length, config.text_dim});
  for (const double guidance : {1.0, 3.0}) {
    SampleOptions options;
    options.solver.steps = 3;
    options.guidance = guidance;
    VideoSampler sampler(model, begin_sampling(*model, options, 7), text, negative);
    std::vector<at::Tensor> chunks;
    for (int i = 0; i < 3; ++i) chunks.push_back(*sampler.next_chunk());
    const at::Tensor made = continue_video(*model, chunks[0], 3, options, 7, text, negative);
    EXPECT_TRUE(made.equal(at::cat(chunks, 2)));
  }
}

TEST(Denoising, VideosOfABatchGoOnInWaysOfTheirOwn) {
  const VideoConfig config = tiny_video();
  const auto model = make_video(config);
  const at::Tensor first = random_video(config, 1, 1, at::kFloat).repeat({2, 1, 1, 1, 1});
  const at::Tensor text = at::randn({1, config.text_length, config.text_dim}).repeat({2, 1, 1});
  SampleOptions options;
  options.solver.steps = 2;
  options.guidance = 1;
  const at::Tensor made = continue_video(*model, first, 2, options, 7, text, {});
  EXPECT_TRUE(part_of(made, config, 0)[0].equal(part_of(made, config, 0)[1]));
  EXPECT_GT((part_of(made, config, 1)[0] - part_of(made, config, 1)[1]).abs().mean().item<double>(), 0.1);
}

TEST(Denoising, WhatCannotWorkIsRefused) {
  const VideoConfig config = tiny_video();
  const auto model = make_video(config);
  const at::Tensor video = random_video(config, 2, 1, at::kFloat), text = at::zeros({1, 1, config.text_dim});
  EXPECT_SENTENCE(denoise_chunks(*model, {video, video, 0}, text), "timestep is 0");
  EXPECT_SENTENCE(denoise_chunks(*model, {video.narrow(2, 0, 3), video, 500}, text),
                  "a multiple of 2 frames");
  EXPECT_SENTENCE(continue_video(*model, video, 3, {}, 1, text), "guidance needs a negative text");
}

}  // namespace
}  // namespace lact::models
