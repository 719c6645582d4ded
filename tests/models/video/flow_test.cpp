#include "lact/models/video/flow.h"

#include <ATen/ATen.h>

#include "lact/mixers/layout.h"
#include "lact/models/video/loss.h"
#include "lact/models/video/sigma_table.h"
#include "lact/ops/random/gaussian_noise.h"
#include "support/errors.h"
#include "support/gradients.h"

namespace lact::models {
namespace {

/// Frame f of video b holds the number 100 b + f everywhere.
at::Tensor numbered_video(int64_t batch, int64_t frames) {
  const at::Tensor numbers = at::arange(frames, at::kFloat) + 100 * at::arange(batch).unsqueeze(1);
  return numbers.view({batch, 1, frames, 1, 1}).repeat({1, 2, 1, 2, 3});
}

/// The number of each frame of [B, channels, frames, rows, columns].
at::Tensor numbers_of(const at::Tensor& video) { return video.select(1, 0).select(-1, 0).select(-1, 0); }

TEST(Flow, TheShiftOfAChunkIsTheAuthors) {
  EXPECT_NEAR(shift_of_chunk(4680), 2.1135, 5e-5);
  EXPECT_NEAR(shift_of_chunk(10920), 2.2846, 5e-5);
  EXPECT_NEAR(shift_of_chunk(32760), 3, 1e-12);
  EXPECT_NEAR(shift_of_chunk(73710), 5, 1e-12);
}

TEST(Flow, TheShiftKeepsTheEndsAndMovesTheMiddle) {
  EXPECT_EQ(shift_time(0, 3), 0);
  EXPECT_EQ(shift_time(1, 3), 1);
  EXPECT_DOUBLE_EQ(shift_time(0.5, 3), 0.75);
  EXPECT_DOUBLE_EQ(shift_time(shift_time(0.3, 5), 1.0 / 5), 0.3);
  EXPECT_TRUE(at::allclose(shift_time(at::tensor({0.0, 0.5, 1.0}), 3), at::tensor({0.0, 0.75, 1.0})));
}

TEST(Flow, WeightsAreADensity) {
  const at::Tensor every = at::arange(1000, at::kDouble);
  for (const auto& [mean, deviation] : {std::pair(0.0, 1.0), {0.5, 1.0}, {-1.0, 0.4}}) {
    const at::Tensor weight = logit_normal_weight(every, mean, deviation);
    EXPECT_NEAR(weight.mean().item<double>(), 1, 1e-9);
    EXPECT_GE(weight.min().item<double>(), 0);
    // Half of the mass is on each side of the median sigmoid(mean).
    const double median = 1000 / (1 + std::exp(-mean));
    const double share = weight.masked_select(every < std::round(median)).sum().item<double>() / 1000;
    EXPECT_NEAR(share, 0.5, 2e-3);
  }
  EXPECT_TRUE(logit_normal_weight(at::tensor({999.0, 999.9, 1000.0}), 0, 1)
                  .equal(logit_normal_weight(at::tensor({999.0, 999.0, 999.0}), 0, 1)));
}

TEST(Flow, PartsComeInTheOrderOfTheLayout) {
  const at::Tensor clean = numbered_video(2, 6);
  const at::Tensor copies = at::stack({clean + 0.1, clean + 0.2}, 1);
  const at::Tensor sequence = interleave(clean, copies, 3);
  EXPECT_EQ(sequence.sizes(), at::IntArrayRef({2, 2, 16, 2, 3}));
  const at::Tensor expected =
      at::tensor({0.1, 1.1, 0.2, 1.2, 0., 1., 2.1, 3.1, 2.2, 3.2, 2., 3., 4.1, 5.1, 4.2, 5.2}, at::kFloat);
  EXPECT_TRUE(at::allclose(numbers_of(sequence)[0], expected));
  EXPECT_TRUE(at::allclose(numbers_of(sequence)[1], expected + 100));
  EXPECT_TRUE(extract_noisy(sequence, 3, 2).equal(copies));
  const auto layout = interleaved_layout(3, {.frames = 2, .rows = 1, .columns = 1}, 2);
  EXPECT_EQ(layout.tokens, sequence.size(2));
  EXPECT_TRUE(numbers_of(sequence)[0].floor().to(at::kLong).equal(layout.positions.select(1, 0)));
}

TEST(Flow, EachChunkHasItsOwnNoiseLevel) {
  const at::Tensor clean = numbered_video(2, 4), noise = at::randn({2, 2, 2, 4, 2, 3});
  const at::Tensor times = at::tensor({0.0, 0.5, 1.0, 0.25, 0.1, 0.2, 0.3, 0.4}, at::kFloat).view({2, 2, 2});
  const TeacherForcing batch = teacher_forcing(clean, noise, times, {.shift = 3});
  EXPECT_TRUE(batch.noisy[0][0].narrow(1, 0, 2).equal(clean[0].narrow(1, 0, 2)));  // time 0: no noise
  EXPECT_TRUE(batch.noisy[0][1].narrow(1, 0, 2).equal(noise[0][1].narrow(1, 0, 2)));
  EXPECT_TRUE(at::allclose(batch.noisy[0][0].narrow(1, 2, 2),
                           0.25 * clean[0].narrow(1, 2, 2) + 0.75 * noise[0][0].narrow(1, 2, 2)));
  EXPECT_TRUE(at::allclose(batch.timesteps[0], at::tensor({0.f, 1000.f, 0.f, 750.f, 500.f})));
  EXPECT_TRUE(batch.target.equal(noise - clean.unsqueeze(1)));
  EXPECT_TRUE(at::allclose(batch.weight, logit_normal_weight(1000 * times, 0.5, 1)));
  // The clean end is noise minus velocity times the level.
  const at::Tensor level = batch.timesteps[0][3] / 1000;
  EXPECT_TRUE(at::allclose(batch.noisy[0][0].narrow(1, 2, 2) - level * batch.target[0][0].narrow(1, 2, 2),
                           clean[0].narrow(1, 2, 2), 1e-4, 1e-4));
}

TEST(Flow, WeightsCanBeTakenAfterTheShiftOrNotAtAll) {
  const at::Tensor clean = numbered_video(1, 2), noise = at::zeros({1, 1, 2, 2, 2, 3});
  const at::Tensor times = at::tensor({0.2f, 0.6f}).view({1, 1, 2});
  const auto weight = [&](const FlowOptions& options) {
    return teacher_forcing(clean, noise, times, options).weight;
  };
  EXPECT_TRUE(at::allclose(weight({.weight_time = WeightTime::shifted}),
                           logit_normal_weight(1000 * shift_time(times, 3), 0.5, 1)));
  EXPECT_TRUE(weight({.weighted = false}).equal(at::ones_like(times)));
  EXPECT_TRUE(weight({.weight_mean = 0}).equal(logit_normal_weight(1000 * times, 0, 1)));
}

TEST(Flow, ThePerfectAnswerHasNoLossAndCleanPartsDoNotCount) {
  const at::Tensor clean = at::randn({2, 2, 6, 2, 3}), noise = at::randn({2, 2, 2, 6, 2, 3});
  const TeacherForcing batch = teacher_forcing(clean, noise, draw_times(2, 2, 3, 7), {});
  const at::Tensor perfect = interleave(at::full_like(clean, 1e6), batch.target, 3);
  EXPECT_LT(weighted_velocity_loss(perfect, batch).item<double>(), 1e-12);
  // One chunk is off by 2 everywhere: its loss is 4, and the mean over 12 chunks counts its weight.
  at::Tensor off = batch.target.clone();
  off[1][0].narrow(1, 2, 2) += 2;
  const at::Tensor losses = velocity_losses(off, batch.target, 3);
  EXPECT_EQ(losses.sizes(), at::IntArrayRef({2, 2, 3}));
  EXPECT_NEAR(losses[1][0][1].item<double>(), 4, 1e-5);
  EXPECT_NEAR(losses.sum().item<double>(), 4, 1e-5);
  EXPECT_NEAR(weighted_velocity_loss(interleave(clean, off, 3), batch).item<double>(),
              batch.weight[1][0][1].item<double>() * 4 / 12, 1e-5);
}

TEST(Flow, GradientsReachTheNoisyPartsOnly) {
  const at::Tensor clean = at::randn({1, 1, 4, 1, 1}, at::kDouble);
  const at::Tensor noise = at::randn({1, 1, 1, 4, 1, 1}, at::kDouble);
  const TeacherForcing batch =
      teacher_forcing(clean, noise, draw_times(1, 1, 2, 3).to(at::kDouble), {.weighted = false});
  at::Tensor answer = at::randn({1, 1, 6, 1, 1}, at::kDouble).requires_grad_(true);
  weighted_velocity_loss(answer, batch).backward();
  const at::Tensor gradient = answer.grad().flatten();
  EXPECT_TRUE((gradient.narrow(0, 2, 2) == 0).all().item<bool>());
  EXPECT_TRUE((gradient.narrow(0, 0, 2) != 0).all().item<bool>());
  EXPECT_TRUE((gradient.narrow(0, 4, 2) != 0).all().item<bool>());
}

TEST(Flow, TimesAndNoiseAreDecidedByTheirSeed) {
  const at::Tensor times = draw_times(50, 2, 20, 11);
  EXPECT_TRUE(times.equal(draw_times(50, 2, 20, 11)));
  EXPECT_FALSE(times.equal(draw_times(50, 2, 20, 12)));
  EXPECT_GE(times.min().item<double>(), 0);
  EXPECT_LT(times.max().item<double>(), 1);
  EXPECT_NEAR(times.mean().item<double>(), 0.5, 0.03);
  const at::Tensor noise = ops::gaussian_noise({101, 99}, 5);
  EXPECT_TRUE(noise.equal(ops::gaussian_noise({101, 99}, 5)));
  EXPECT_FALSE(noise.equal(ops::gaussian_noise({101, 99}, 6)));
  EXPECT_NEAR(noise.mean().item<double>(), 0, 0.03);
  EXPECT_NEAR(noise.std().item<double>(), 1, 0.03);
  EXPECT_NEAR((noise.abs() < 1).to(at::kDouble).mean().item<double>(), 0.6827, 0.02);
  EXPECT_NEAR((noise.flatten().narrow(0, 0, 9998) * noise.flatten().narrow(0, 1, 9998)).mean().item<double>(),
              0, 0.04);
}

TEST(SigmaTable, LooksUpTheNearestRow) {
  const SigmaTable table({.steps = 4, .shift = 1, .last = 0});
  EXPECT_TRUE(at::allclose(table.sigmas(), at::tensor({1.0, 0.75, 0.5, 0.25}, at::kDouble)));
  const at::Tensor rows = table.nearest(at::tensor({1000.f, 640.f, 610.f, 0.f}));
  EXPECT_TRUE(rows.equal(at::tensor({0, 1, 2, 3}, at::kLong)));
  EXPECT_TRUE(at::allclose(table.sigma(rows + 1), at::tensor({0.75, 0.5, 0.25, 0.0}, at::kDouble)));
  const at::Tensor bell = SigmaTable({}).bell_weights();
  EXPECT_NEAR(bell.mean().item<double>(), 1, 1e-12);
  EXPECT_EQ(bell.min().item<double>(), 0);
}

TEST(Flow, MistakesAreSentences) {
  const at::Tensor clean = numbered_video(1, 4), noise = at::zeros({1, 1, 2, 4, 2, 3}),
                   times = at::zeros({1, 1, 2});
  EXPECT_SENTENCE(teacher_forcing(clean, noise, at::zeros({1, 1, 3}), {}), "4 frames do not divide into 3");
  EXPECT_SENTENCE(teacher_forcing(clean, noise, at::zeros({2, 1, 2}), {}), "for 1 copies of 1 videos");
  EXPECT_SENTENCE(teacher_forcing(clean, noise, at::zeros({2}), {}), "expected [B, repeats, chunks]");
  EXPECT_SENTENCE(teacher_forcing(clean, clean, times, {}), "noisy copies of shape [1, 2, 4, 2, 3]");
  EXPECT_SENTENCE(teacher_forcing(clean[0], noise, times, {}), "a video of shape [2, 4, 2, 3]");
  EXPECT_SENTENCE(teacher_forcing(clean, noise, times, {.shift = 0}), "shift is 0");
  EXPECT_SENTENCE(teacher_forcing(clean, noise, times, {.weight_deviation = -1}), "weight_deviation is -1");
  EXPECT_SENTENCE(extract_noisy(clean, 2, 1), "divide into the 3 parts of 2 chunks with 1 noisy copies");
  EXPECT_SENTENCE(velocity_losses(noise, noise.select(1, 0), 2),
                  "expected those of the target [1, 2, 4, 2, 3]");
  EXPECT_SENTENCE(SigmaTable({.steps = 0}), "0 noise levels");
  EXPECT_SENTENCE(SigmaTable({.first = 0.1, .last = 0.5}), "noise levels from 0.1 to 0.5");
}

}  // namespace
}  // namespace lact::models
