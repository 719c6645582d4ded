#include "lact/tasks/video/evaluation/denoising_loss.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lact/data/clips/story_clips.h"
#include "support/errors.h"
#include "support/tiny_video.h"

namespace lact::tasks::video {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t kChunkFrames = 2, kChunks = 6;

data::StoryClips stories() {
  return {
      {.chunks = kChunks, .chunk_frames = kChunkFrames, .height = 16, .width = 24}, 3, data::ClipPart::valid};
}

DenoisingOptions few_clips() {
  DenoisingOptions options;
  options.timesteps = {500, 1000};
  options.clips = 5;
  options.batch = 2;
  return options;
}

DenoisingScore score_of(const Denoiser& velocity, const DenoisingOptions& options = few_clips()) {
  return denoising_score({"made by hand", velocity}, stories(), models::PixelCodec(1), kChunkFrames, options);
}

at::Tensor true_velocity(const models::DenoisingProblem& problem, const std::vector<std::string>&) {
  return problem.noise - problem.clean;
}

TEST(DenoisingLoss, IsZeroForWhoKnowsTheAnswer) {
  const DenoisingScore score = score_of(true_velocity);
  EXPECT_EQ(score.losses.sizes(), (std::vector<int64_t>{2, 5, kChunks}));
  EXPECT_THAT(score.by_chunk(), Each(0));
  EXPECT_EQ(score.mean(), 0);
  ASSERT_EQ(score.reappearance.size(), 3u);
  EXPECT_LT(score.all_reappearance().returning(), 1e-12);
  EXPECT_LT(score.all_reappearance().elsewhere(), 1e-12);
}

TEST(DenoisingLoss, IsTheSquareOfTheErrorInTheChunkThatHasIt) {
  const DenoisingScore score = score_of([](const auto& problem, const auto& captions) {
    EXPECT_EQ(problem.clean.size(0), int64_t(captions.size()));
    at::Tensor velocity = true_velocity(problem, captions);
    velocity.narrow(2, 3 * kChunkFrames, kChunkFrames).add_(0.5);
    return velocity;
  });
  for (int64_t level = 0; level < 2; ++level)
    for (size_t chunk = 0; chunk < size_t(kChunks); ++chunk)
      EXPECT_NEAR(score.by_chunk(level)[chunk], chunk == 3 ? 0.25 : 0, 1e-6) << chunk;
  EXPECT_NEAR(score.by_chunk()[3], 0.25, 1e-6);
  EXPECT_NEAR(score.error_by_chunk()[3], 0, 1e-6);
  EXPECT_NEAR(score.mean(), 0.25 / kChunks, 1e-6);
}

TEST(DenoisingLoss, OfNoAnswerIsThatOfNoiseAndClip) {
  const DenoisingScore score =
      score_of([](const auto& problem, const auto&) { return at::zeros_like(problem.clean); });
  // Noise of variance 1 and pixels of at most 1.
  for (const double loss : score.by_chunk()) {
    EXPECT_GT(loss, 1);
    EXPECT_LT(loss, 2);
  }
}

TEST(DenoisingLoss, ForgottenThingsAreErrorsWhereTheyComeBack) {
  const auto clips = stories();
  int64_t first = 0;
  const DenoisingScore score = score_of([&](const auto& problem, const auto& captions) {
    at::Tensor velocity = true_velocity(problem, captions);
    for (int64_t i = 0; i < problem.clean.size(0); ++i) {
      const auto truth = clips.clip_with_truth(uint64_t(first + i));
      const auto regions = data::reappearance_regions(truth.visible, clips.options());
      velocity[i] += 0.2 * regions.returning.gt(0.999).unsqueeze(0);
    }
    if (problem.timestep == 1000) first += problem.clean.size(0);
    return velocity;
  });
  const auto& half = score.reappearance[0];
  const auto& whole = score.reappearance[1];
  // The clean clip has sigma times the velocity's error inside of things, unless it is cut off at black.
  EXPECT_GT(whole.returning(), 0.2 * 0.2 / 4);
  EXPECT_LT(whole.returning(), 0.2 * 0.2);
  EXPECT_LT(half.returning(), whole.returning() / 2);
  EXPECT_LT(whole.elsewhere(), whole.returning() / 10);
  EXPECT_GT(whole.ratio(), 10);
  const eval::Plot plot = reappearance_plot({score});
  ASSERT_EQ(plot.series.size(), 1u);
  EXPECT_GE(plot.series[0].x.front(), 2);
}

TEST(DenoisingLoss, TheSameClipsAndNoiseWhateverTheBatch) {
  const auto model = lact::testing::make_video(lact::testing::tiny_video());
  const auto score = [&](int64_t batch) {
    DenoisingOptions options = few_clips();
    options.batch = batch;
    return score_of(
        [&](const auto& problem, const auto& captions) {
          return models::denoise_chunks(*model, problem, at::zeros({int64_t(captions.size()), 1, 6}));
        },
        options);
  };
  EXPECT_TRUE(at::allclose(score(2).losses, score(5).losses, 1e-4, 1e-5));
}

TEST(DenoisingLoss, StandardErrorsAreThoseOfMeansOverClips) {
  DenoisingScore score;
  // Two timesteps of four clips with one chunk: the means of the clips are 1, 2, 3, 6.
  score.losses = at::tensor({0.0, 1.0, 2.0, 5.0, 2.0, 3.0, 4.0, 7.0}, at::kDouble).view({2, 4, 1});
  ASSERT_EQ(score.by_chunk().size(), 1u);
  EXPECT_DOUBLE_EQ(score.by_chunk()[0], 3);
  EXPECT_DOUBLE_EQ(score.error_by_chunk()[0], std::sqrt(14.0 / 3) / 2);
  score.losses = score.losses.narrow(1, 0, 1);
  EXPECT_TRUE(std::isnan(score.error_by_chunk()[0]));
}

TEST(DenoisingLoss, APlotHasALineForEachModel) {
  const DenoisingScore score = score_of(true_velocity);
  const eval::Plot plot = denoising_plot({score, score}, {500, 1000});
  EXPECT_EQ(plot.series.size(), 2u);
  EXPECT_EQ(plot.series[1].x, (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(plot.title, HasSubstr("500, 1000"));
  EXPECT_THAT(denoising_plot({score}, {500, 1000}, 1).title, HasSubstr("at timestep 1000"));
}

TEST(DenoisingLoss, WhatCannotWorkIsRefused) {
  DenoisingOptions options = few_clips();
  options.timesteps = {0};
  EXPECT_SENTENCE(score_of(true_velocity, options), "a timestep is 0");
  options.timesteps = {};
  EXPECT_SENTENCE(score_of(true_velocity, options), "there is no timestep");
  EXPECT_SENTENCE(denoising_score({"", true_velocity}, stories(), models::PixelCodec(1), 5, few_clips()),
                  "12 latent frames are not whole chunks of 5");
}

}  // namespace
}  // namespace lact::tasks::video
