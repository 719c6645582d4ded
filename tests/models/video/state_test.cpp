// Sampling with what is remembered against the whole sequence at once.
#include "lact/models/video/state.h"

#include "lact/mixers/token_buffer.h"
#include "lact/models/common/state_file.h"
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

/// Velocities of all noisy parts of a clip without repeats, chunk after chunk.
std::vector<at::Tensor> sampled(VideoModel& model, const TinyClip& clip) {
  const auto state = model.initial_state(clip.latents.size(0));
  std::vector<at::Tensor> velocities;
  for (int64_t part = 0; part < clip.timesteps.size(1); ++part) {
    const at::Tensor chunk = part_of(clip.latents, model.config(), part);
    if (part % 2 == 1) {
      model.write(*state, chunk, clip.text);
      continue;
    }
    velocities.push_back(model.denoise(*state, chunk, clip.timesteps.select(1, part), clip.text));
  }
  return velocities;
}

void expect_sampling_like_forward(VideoModel& model, const TinyClip& clip, double tolerance,
                                  const std::string& what) {
  at::NoGradGuard no_grad;
  const at::Tensor whole = clip.run(model);
  const auto velocities = sampled(model, clip);
  for (size_t i = 0; i < velocities.size(); ++i)
    EXPECT_LT(difference(velocities[i], part_of(whole, model.config(), int64_t(2 * i))), tolerance)
        << what << ", chunk " << i;
}

TEST(VideoState, SamplingEqualsTheWholeSequence) {
  for (const MixerKind mixer : kVideoMixers) {
    for (const int64_t visible : {-1, 5, 0}) {
      VideoConfig config = tiny_video(mixer);
      config.visible_clean = visible;
      const auto clip = tiny_clip(config, 5, 1, 2, at::kDouble);
      expect_sampling_like_forward(*make_precise_video(config), clip, 1e-12,
                                   fmt::format("{}, {} visible", options::word_of(mixer), visible));
    }
  }
}

TEST(VideoState, SamplingEqualsTheWholeSequenceOnFastPaths) {
  for (const MixerKind mixer : kVideoMixers) {
    VideoConfig config = tiny_video(mixer);
    config.latent_height = 16;
    config.latent_width = 24;
    expect_sampling_like_forward(*make_video(config), tiny_clip(config, 4, 1, 1), 1e-5,
                                 std::string(options::word_of(mixer)));
  }
}

TEST(VideoState, SamplingEqualsTheWholeSequenceForEveryUpdateRule) {
  for (const bool muon : {false, true}) {
    for (const auto target : {ttt::NormTarget::initial, ttt::NormTarget::previous}) {
      VideoConfig config = tiny_video();
      config.layer.memory.update.momentum = true;
      config.layer.memory.update.muon = muon;
      config.layer.memory.update.norm_target = target;
      expect_sampling_like_forward(*make_precise_video(config), tiny_clip(config, 5, 1, 1, at::kDouble),
                                   1e-10, options::write(config.layer.memory.update).dump());
    }
  }
}

TEST(VideoState, DenoisingLeavesItAsItIs) {
  for (const MixerKind mixer : kVideoMixers) {
    const VideoConfig config = tiny_video(mixer);
    const auto model = make_video(config);
    const TinyClip clip = tiny_clip(config, 5, 1, 1);
    const auto state = model->initial_state();
    const at::Tensor noisy = part_of(clip.latents, config, 0), time = clip.timesteps.select(1, 0);
    for (int64_t chunk = 0; chunk < 3; ++chunk) {
      std::map<std::string, at::Tensor> before;
      for (const auto& [name, tensor] : tensors_of(*state)) before[name] = tensor.clone();
      const at::Tensor first = model->denoise(*state, noisy, time, clip.text);
      EXPECT_TRUE(model->denoise(*state, noisy, time, clip.text).equal(first));
      for (const auto& [name, tensor] : tensors_of(*state))
        EXPECT_TRUE(tensor.equal(before.at(name))) << options::word_of(mixer) << " " << name;
      model->write(*state, part_of(clip.latents, config, 2 * chunk + 1), clip.text);
      EXPECT_EQ(state->chunks, chunk + 1);
    }
  }
}

/// Bytes of all memory that the state's tensors hold, also where they show only a part of it.
int64_t held_bytes(VideoState& state) {
  int64_t bytes = 0;
  struct Counter : StateVisitor {
    int64_t& bytes;
    explicit Counter(int64_t& sum) : bytes(sum) {}
    void tensor(const std::string&, at::Tensor& value, int64_t) override {
      bytes += int64_t(value.storage().nbytes());
    }
    void number(const std::string&, int64_t&) override {}
  } counter(bytes);
  state.visit(counter, "");
  return bytes;
}

TEST(VideoState, DoesNotGrowUnlessAttentionIsFull) {
  for (const MixerKind mixer : kVideoMixers) {
    const VideoConfig config = tiny_video(mixer);
    const auto model = make_video(config);
    const TinyClip clip = tiny_clip(config, 2, 1, 1);
    const auto state = model->initial_state();
    std::vector<int64_t> bytes;
    // More chunks than the room that a buffer of tokens begins with.
    const int64_t chunks = 2 * kTokenRoom / config.grid().tokens();
    for (int64_t i = 0; i < chunks; ++i) {
      model->write(*state, part_of(clip.latents, config, 1), clip.text);
      bytes.push_back(held_bytes(*state));
    }
    if (mixer == MixerKind::full) {
      EXPECT_GT(bytes.back(), 3 * bytes[2] / 2);
    } else {
      for (size_t i = 2; i < bytes.size(); ++i)
        EXPECT_EQ(bytes[i], bytes[1]) << options::word_of(mixer) << " " << i;
    }
  }
}

TEST(VideoState, CopiesGoTheirOwnWays) {
  for (const MixerKind mixer : kVideoMixers) {
    const VideoConfig config = tiny_video(mixer);
    const auto model = make_video(config);
    const TinyClip clip = tiny_clip(config, 5, 1, 1);
    const auto denoised = [&](const VideoState& state) {
      return model->denoise(state, part_of(clip.latents, config, 0), clip.timesteps.select(1, 0), clip.text);
    };
    const auto write = [&](VideoState& state, int64_t part) {
      model->write(state, part_of(clip.latents, config, part), clip.text);
    };
    const auto trunk = model->initial_state(), alone = model->initial_state();
    for (const int64_t part : {1, 3}) write(*trunk, part), write(*alone, part);
    const auto branch = trunk->copy();
    for (const int64_t part : {5, 7, 1}) write(*branch, part);
    EXPECT_TRUE(denoised(*trunk).equal(denoised(*alone))) << options::word_of(mixer);
    write(*trunk, 3), write(*alone, 3);
    EXPECT_TRUE(denoised(*trunk).equal(denoised(*alone))) << options::word_of(mixer);
    EXPECT_FALSE(denoised(*branch).equal(denoised(*alone))) << options::word_of(mixer);
  }
}

TEST(VideoState, ComesBackFromTensorsToTheBit) {
  for (const MixerKind mixer : kVideoMixers) {
    const VideoConfig config = tiny_video(mixer);
    const auto model = make_video(config);
    const TinyClip clip = tiny_clip(config, 5, 1, 1);
    const auto state = model->initial_state();
    for (const int64_t part : {1, 3, 5}) model->write(*state, part_of(clip.latents, config, part), clip.text);
    std::map<std::string, at::Tensor> saved;
    for (const auto& [name, tensor] : tensors_of(*state)) saved[name] = tensor.clone();
    StateReader reader("state", saved);
    const auto again = model->initial_state();
    reader.fill(*again);
    reader.expect_nothing_more("the state");
    EXPECT_EQ(again->chunks, 3);
    for (VideoState* each : {state.get(), again.get()})
      model->write(*each, part_of(clip.latents, config, 7), clip.text);
    const at::Tensor noisy = part_of(clip.latents, config, 8), time = clip.timesteps.select(1, 8);
    EXPECT_TRUE(
        model->denoise(*again, noisy, time, clip.text).equal(model->denoise(*state, noisy, time, clip.text)))
        << options::word_of(mixer);
  }
}

TEST(VideoState, Bfloat16SamplesNearFloat32) {
  at::NoGradGuard no_grad;
  const VideoConfig config = tiny_video();
  const auto model = make_video(config);
  const TinyClip clip = tiny_clip(config, 4, 1, 1);
  const auto wide = sampled(*model, clip);
  model->set_compute_type(at::kBFloat16);
  const auto narrow = sampled(*model, clip);
  for (size_t i = 0; i < wide.size(); ++i) EXPECT_LT(difference(narrow[i], wide[i]), 0.05) << i;
}

TEST(VideoState, MistakesAreSentences) {
  const auto model = make_video(tiny_video());
  const auto state = model->initial_state();
  const at::Tensor text = at::zeros({1, 5, 6}), time = at::zeros({1});
  const auto write = [&](at::IntArrayRef shape) { model->write(*state, at::zeros(shape), text); };
  EXPECT_SENTENCE(write({1, 4, 2, 4, 6}), "the latents have 4 channels, expected 3");
  EXPECT_SENTENCE(write({1, 3, 3, 4, 6}), "the chunk has 3 latent frames, expected 2");
  EXPECT_SENTENCE(write({2, 3, 2, 4, 6}), "the chunk has shape [2, 3, 2, 4, 6], expected a batch of 1");
  write({1, 3, 2, 4, 6});
  EXPECT_SENTENCE(write({1, 3, 2, 6, 4}), "has 3 x 2 patches but the chunks before it had 2 x 3");
  EXPECT_EQ(state->chunks, 1);
  const at::Tensor chunk = at::zeros({1, 3, 2, 4, 6});
  EXPECT_SENTENCE(model->denoise(*state, chunk, at::zeros({1, 1}), text), "the time step has shape [1, 1]");
  EXPECT_SENTENCE(model->denoise(*state, chunk, at::zeros({2}), text), "the time step has shape [2]");
  EXPECT_SENTENCE(model->denoise(*state, chunk, time, at::zeros({1, 5, 4})), "the text has shape [1, 5, 4]");
  EXPECT_SENTENCE(model->initial_state(0), "a batch of 0 videos");
}

}  // namespace
}  // namespace lact::models
