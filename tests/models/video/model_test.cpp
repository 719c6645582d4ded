#include "lact/models/video/model.h"

#include <algorithm>

#include "lact/models/video/flow.h"
#include "lact/ops/attention/windows.h"
#include "support/dependence.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/tiny_video.h"

namespace lact::models {
namespace {

using lact::testing::difference;
using lact::testing::kVideoMixers;
using lact::testing::make_precise_video;
using lact::testing::make_video;
using lact::testing::part_of;
using lact::testing::tiny_clip;
using lact::testing::tiny_video;
using lact::testing::TinyClip;

/// [T, T] of tokens -> [parts, parts]
at::Tensor by_part(const at::Tensor& mask, int64_t parts) {
  return mask.unflatten(1, {parts, -1}).any(2).unflatten(0, {parts, -1}).any(1);
}

// The paper's mask: a noisy chunk sees itself and clean chunks before it, a clean one itself and earlier
// ones; no one sees another noisy chunk, nor its own clean version. The window alone ends with the chunk
// before.
TEST(VideoModel, DependsOnWhatThePapersMaskAllows) {
  for (const int64_t repeats : {1, 2}) {
    for (const MixerKind mixer : kVideoMixers) {
      const VideoConfig config = tiny_video(mixer);
      const auto model = make_precise_video(config);
      const TinyClip clip = tiny_clip(config, 4, repeats, 1, at::kDouble);
      const int64_t parts = clip.timesteps.size(1);
      const auto velocity_by_part = [&](const at::Tensor& latents_by_part) {
        const at::Tensor latents = latents_by_part.transpose(1, 2).flatten(2, 3);
        return model->forward(latents, clip.timesteps, clip.text, repeats)
            .unflatten(2, {parts, config.chunk_frames})
            .transpose(1, 2);
      };
      const at::Tensor measured = lact::testing::measured_dependence(
          velocity_by_part, clip.latents.unflatten(2, {parts, config.chunk_frames}).transpose(1, 2), 1);
      const SequenceLayout layout = interleaved_layout(4, config.grid(), repeats);
      const at::Tensor mask =
          mixer == MixerKind::window ? ops::window_mask(layout.window, layout.tokens) : layout_mask(layout);
      lact::testing::expect_same_mask(measured, by_part(mask, parts),
                                      fmt::format("{}, {} noisy copies", options::word_of(mixer), repeats));
    }
  }
}

TEST(VideoModel, TimeStepOfAPartReachesWhereThePartReaches) {
  const VideoConfig config = tiny_video();
  const auto model = make_precise_video(config);
  const TinyClip clip = tiny_clip(config, 3, 1, 1, at::kDouble);
  const at::Tensor measured = lact::testing::measured_dependence(
      [&](const at::Tensor& timesteps) {
        return model->forward(clip.latents, timesteps, clip.text, 1)
            .unflatten(2, {5, config.chunk_frames})
            .transpose(1, 2);
      },
      clip.timesteps, 1);
  lact::testing::expect_same_mask(measured, by_part(layout_mask(interleaved_layout(3, config.grid(), 1)), 5),
                                  "time steps");
}

TEST(VideoModel, CopiesOfAChunkAreAsIfTheyWereAlone) {
  for (const MixerKind mixer : kVideoMixers) {
    const VideoConfig config = tiny_video(mixer);
    const auto model = make_precise_video(config);
    const TinyClip twice = tiny_clip(config, 3, 2, 2, at::kDouble);
    const at::Tensor both = twice.run(*model);
    for (const int64_t copy : {0, 1}) {
      // Parts: noisy, noisy, clean, ...
      const at::Tensor kept = at::tensor({copy, int64_t(2), 3 + copy, int64_t(5), 6 + copy});
      std::vector<at::Tensor> latents, velocities;
      for (int64_t i = 0; i < kept.size(0); ++i) {
        latents.push_back(part_of(twice.latents, config, kept[i].item<int64_t>()));
        velocities.push_back(part_of(both, config, kept[i].item<int64_t>()));
      }
      const at::Tensor alone =
          model->forward(at::cat(latents, 2), twice.timesteps.index_select(1, kept), twice.text, 1);
      EXPECT_LT(difference(alone, at::cat(velocities, 2)), 1e-12) << options::word_of(mixer);
    }
  }
}

TEST(VideoModel, FreshMemoryLeavesTheWindowModelUnchanged) {
  at::manual_seed(5);
  const auto window = make_video(tiny_video(MixerKind::window));
  VideoModel with_memory(tiny_video());
  at::NoGradGuard no_grad;
  const auto known = window->named_parameters();
  for (const auto& item : with_memory.named_parameters())
    if (const at::Tensor* value = known.find(item.key())) at::Tensor(item.value()).copy_(*value);
  const TinyClip clip = tiny_clip(tiny_video(), 4, 2, 1);
  EXPECT_GT(clip.run(*window).abs().max().item<double>(), 0.1);
  EXPECT_TRUE(clip.run(with_memory).equal(clip.run(*window)));
}

TEST(VideoModel, FreshModelSaysNothing) {
  const VideoConfig config = tiny_video();
  VideoModel model(config);
  EXPECT_EQ(tiny_clip(config, 2, 1, 1).run(model).abs().max().item<double>(), 0);
}

// The same layers, whose answer is read as the clean chunk: the velocity leads from the noisy chunk there, at
// the noise level of each part.
TEST(VideoModel, VelocityOfACleanAnswerLeadsThere) {
  for (const MixerKind mixer : kVideoMixers) {
    VideoConfig config = tiny_video(mixer);
    const auto model = make_precise_video(config);
    const TinyClip clip = tiny_clip(config, 3, 2, 1, at::kDouble);
    const at::Tensor answer = clip.run(*model);
    config.prediction = FlowPrediction::clean;
    const auto other = make_precise_video(config);
    const at::Tensor velocity = clip.run(*other);
    for (int64_t part = 0; part < clip.timesteps.size(1); ++part) {
      const double sigma = std::max(kLeastSigma, clip.timesteps[0][part].item<double>() / kTrainingTimesteps);
      const at::Tensor reached =
          part_of(clip.latents, config, part) - sigma * part_of(velocity, config, part);
      EXPECT_LT(difference(reached, part_of(answer, config, part)), 1e-12)
          << options::word_of(mixer) << ", part " << part;
    }
  }
}

TEST(VideoModel, ShortTextsArePaddedWithZeros) {
  const VideoConfig config = tiny_video();
  const auto model = make_video(config);
  TinyClip clip = tiny_clip(config, 2, 1, 2);
  clip.text.narrow(1, 3, 2).zero_();
  const at::Tensor padded = clip.run(*model);
  clip.text = clip.text.narrow(1, 0, 3);
  EXPECT_TRUE(clip.run(*model).equal(padded));
}

TEST(VideoModel, PartsMayHaveTextsOfTheirOwn) {
  const VideoConfig config = tiny_video();
  const auto model = make_precise_video(config);
  TinyClip clip = tiny_clip(config, 2, 1, 2, at::kDouble);
  const at::Tensor one = clip.run(*model);
  clip.text = clip.text.unsqueeze(1).repeat({1, 3, 1, 1});
  EXPECT_LT(difference(clip.run(*model), one), 1e-12);
  clip.text.select(1, 2).add_(1);
  const at::Tensor other = clip.run(*model);
  for (const int64_t part : {0, 1})
    EXPECT_LT(difference(part_of(other, config, part), part_of(one, config, part)), 1e-12);
  EXPECT_GT(difference(part_of(other, config, 2), part_of(one, config, 2)), 1e-3);
}

TEST(VideoModel, AnySizeThatDividesIntoPatches) {
  const VideoConfig config = tiny_video();
  const auto model = make_video(config);
  const at::Tensor latents = at::randn({1, 3, 2, 8, 2});
  EXPECT_EQ(model->forward(latents, at::full({1, 1}, 500.0), at::zeros({1, 1, 6}), 1).sizes(),
            latents.sizes());
}

TEST(VideoModel, RecomputingChangesNoGradient) {
  for (const MixerKind mixer : kVideoMixers) {
    const VideoConfig config = tiny_video(mixer);
    const auto model = make_precise_video(config);
    const TinyClip clip = tiny_clip(config, 3, 2, 1, at::kDouble);
    const auto gradients = [&](nn::Recompute what) {
      model->set_recompute(what);
      model->zero_grad();
      clip.run(*model).square().sum().backward();
      std::vector<at::Tensor> list;
      for (const auto& parameter : model->parameters()) list.push_back(parameter.grad().clone());
      return list;
    };
    const auto kept = gradients(nn::Recompute::none);
    for (const auto what : {nn::Recompute::cheap, nn::Recompute::blocks}) {
      const auto again = gradients(what);
      for (size_t i = 0; i < kept.size(); ++i)
        EXPECT_LT(difference(again[i], kept[i]), 1e-12)
            << options::word_of(mixer) << " " << options::word_of(what) << " "
            << model->named_parameters().keys()[i];
    }
  }
}

TEST(VideoModel, EveryParameterLearns) {
  for (const MixerKind mixer : kVideoMixers) {
    const VideoConfig config = tiny_video(mixer);
    const auto model = make_video(config);
    tiny_clip(config, 3, 1, 1).run(*model).square().sum().backward();
    for (const auto& item : model->named_parameters())
      EXPECT_GT(item.value().grad().abs().max().item<double>(), 0)
          << options::word_of(mixer) << " " << item.key();
  }
}

TEST(VideoModel, Bfloat16IsNear) {
  for (const MixerKind mixer : kVideoMixers) {
    const VideoConfig config = tiny_video(mixer);
    const auto model = make_video(config);
    const TinyClip clip = tiny_clip(config, 3, 1, 1);
    const at::Tensor wide = clip.run(*model);
    model->set_compute_type(at::kBFloat16);
    const at::Tensor narrow = clip.run(*model);
    EXPECT_EQ(narrow.scalar_type(), at::kFloat);
    EXPECT_LT(difference(narrow, wide), 0.05) << options::word_of(mixer);
  }
}

TEST(VideoModel, MistakesAreSentences) {
  const auto model = make_video(tiny_video());
  const auto forward = [&](at::IntArrayRef latents, at::IntArrayRef times, at::IntArrayRef text,
                           int64_t repeats = 1) {
    model->forward(at::zeros(latents), at::zeros(times), at::zeros(text), repeats);
  };
  forward({1, 3, 6, 4, 6}, {1, 3}, {1, 5, 6});
  EXPECT_SENTENCE(forward({1, 4, 6, 4, 6}, {1, 3}, {1, 5, 6}), "the latents have 4 channels, expected 3");
  EXPECT_SENTENCE(forward({3, 6, 4, 6}, {1, 3}, {1, 5, 6}), "expected [B, C, F, H, W]");
  EXPECT_SENTENCE(forward({1, 3, 6, 5, 6}, {1, 3}, {1, 5, 6}), "do not divide into patches");
  EXPECT_SENTENCE(forward({1, 3, 5, 4, 6}, {1, 3}, {1, 5, 6}), "the sequence has 5 latent frames");
  EXPECT_SENTENCE(forward({1, 3, 8, 4, 6}, {1, 4}, {1, 5, 6}), "the sequence has 8 latent frames");
  EXPECT_SENTENCE(forward({1, 3, 6, 4, 6}, {1, 2}, {1, 5, 6}), "expected [1, 3], one for each chunk");
  EXPECT_SENTENCE(forward({1, 3, 6, 4, 6}, {1, 3}, {2, 5, 6}),
                  "the text has shape [2, 5, 6], expected a batch");
  EXPECT_SENTENCE(forward({1, 3, 6, 4, 6}, {1, 3}, {1, 6, 6}), "expected [B, at most 5, 6]");
  EXPECT_SENTENCE(forward({1, 3, 6, 4, 6}, {1, 3}, {1, 5, 7}), "expected [B, at most 5, 6]");
  EXPECT_SENTENCE(forward({1, 3, 6, 4, 6}, {1, 3}, {1, 2, 5, 6}), "one for each of the 3 chunks");
  EXPECT_SENTENCE(forward({1, 3, 6, 4, 6}, {1, 3}, {1, 5, 6}, 0), "0 noisy copies");
}

}  // namespace
}  // namespace lact::models
