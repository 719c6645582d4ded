#include <gtest/gtest.h>

#include <limits>

#include "lact/models/presets.h"
#include "tests/support/errors.h"

namespace lact::models {
namespace {

using options::Json;

/// Calls `check` with the default config of each task.
template <class Check>
void each_default(const Check& check) {
  check(LmConfig{});
  check(NvsConfig{});
  check(VideoConfig{});
}

TEST(ModelConfigs, DefaultsArePossible) {
  each_default([](const auto& config) { EXPECT_NO_THROW(config.check()); });
}

TEST(ModelConfigs, JsonAndBackIsTheSame) {
  each_default([](auto config) {
    const auto unchanged = config;
    auto again = config;
    config.num_layers = 3;
    config.model_dim = 96;
    options::read(Json::parse(options::write(config).dump()), again);
    EXPECT_EQ(again, config);
    EXPECT_NE(again, unchanged);
  });
}

TEST(ModelConfigs, EveryFieldHasHelp) {
  each_default([](const auto& config) {
    for (const auto& field : options::describe(config)) EXPECT_FALSE(field.help.empty()) << field.path;
  });
}

TEST(ModelConfigs, UnknownFieldNamesTheNearest) {
  each_default([](auto config) {
    const Json json = {{"num_layer", 4}};
    EXPECT_SENTENCE(options::read(json, config), "did you mean num_layers?");
  });
}

struct Mistake {
  std::string preset, assignment, sentence;
};

class ImpossibleSize : public ::testing::TestWithParam<Mistake> {};

TEST_P(ImpossibleSize, IsOneSentence) {
  const auto& [preset, assignment, sentence] = GetParam();
  EXPECT_SENTENCE(resolve_config(preset, {assignment}), sentence);
}

INSTANTIATE_TEST_SUITE_P(
    All, ImpossibleSize,
    ::testing::Values(
        Mistake{"lm_tiny", "model_dim=0", "model_dim is 0, expected 1 to"},
        Mistake{"lm_tiny", "num_layers=1000000", "num_layers is 1000000, expected 1 to 4096"},
        Mistake{"lm_tiny", "vocabulary_size=-1", "vocabulary_size is -1"},
        Mistake{"lm_tiny", "chunk_size=0", "chunk_size is 0, expected 1 to 1073741824"},
        Mistake{"lm_tiny", "window_size=-4", "window_size is -4"},
        Mistake{"lm_tiny", "init_std=0", "init_std is 0"},
        Mistake{"lm_tiny", "feed_forward.hidden_dim=0", "feed_forward.hidden_dim is 0"},
        Mistake{"lm_tiny", "norm.bias=true", "norm.bias is true, but an RMS-norm has no bias"},
        Mistake{"lm_tiny", "norm.epsilon=0", "norm.epsilon is 0"},
        Mistake{"lm_tiny", "layer.attention.num_heads=5",
                "layer.attention.num_heads is 5, which does not divide model_dim 384"},
        Mistake{"lm_tiny", "layer.attention.num_heads=384", "rotary embedding needs an even number"},
        Mistake{"lm_tiny", "layer.attention.rope.base=0", "layer.attention.rope.base is 0"},
        Mistake{"lm_tiny", "layer.memory.num_heads=7", "layer.memory.num_heads is 7, which does not divide"},
        Mistake{"lm_tiny", "layer.memory.rope_heads=7",
                "layer.memory.rope_heads is 7, which does not divide"},
        Mistake{"lm_tiny", "layer.memory.hidden_multiple=0", "layer.memory.hidden_multiple is 0"},
        Mistake{"lm_tiny", "layer.memory.rate_channels=2",
                "layer.memory.rate_channels is 2, expected 1 or the 96"},
        Mistake{"lm_tiny", "layer.memory.initial_weights.rank=-1", "initial_weights.rank is -1"},
        Mistake{"lm_tiny", "layer.memory.base_rate=0", "layer.memory.base_rate is 0"},
        Mistake{"lm_tiny", "layer.memory.update.newton_schulz.steps=-1", "newton_schulz.steps is -1"},
        Mistake{"lm_tiny", "layer.memory.network=swigly", "swigly"},
        Mistake{"lm_tiny", "layer.memory.loss=dot", "dot"},
        Mistake{"nvs_small", "patch_size=0", "patch_size is 0"},
        Mistake{"nvs_small", "attention.attention.num_heads=3", "attention.attention.num_heads is 3"},
        Mistake{"nvs_small", "lact.memory.num_heads=0", "lact.memory.num_heads is 0"},
        Mistake{"video_tiny", "patch=[2,2]", "patch has 2 numbers"},
        Mistake{"video_tiny", "patch=[3,2,2]", "chunk_frames is 2, which does not divide into patches of 3"},
        Mistake{"video_tiny", "latent_width=15",
                "latent_width is 15, which does not divide into patches of 4"},
        Mistake{"video_tiny", "frequency_dim=5", "frequency_dim is 5, expected an even number"},
        Mistake{"video_tiny", "cross_attention.num_heads=5", "cross_attention.num_heads is 5"},
        Mistake{"video_tiny", "mixer=none", "mixer: there is no mixer \"none\""},
        Mistake{"video_tiny", "layer.memory_kind=none", "unknown option layer.memory_kind"},
        Mistake{"lm_tiny", "mixer=perceiver",
                "mixer is perceiver, whose registers read a set of views; a language model has lact, "},
        Mistake{"video_tiny", "mixer=perceiver", "whose registers read a set of views; a video model has"},
        Mistake{"nvs_small", "mixer=window", "each view attends to itself in any case"},
        Mistake{"lm_tiny", "mixer=fulll", "there is no mixer \"fulll\"; did you mean full?"},
        Mistake{"lm_tiny", "mixer=7", "mixer is 7, expected a string"},
        Mistake{"lm_tiny", "mixer=6 lact : 1 full", "a pattern of 7 layers, but num_layers is 6"},
        Mistake{"lm_tiny", "mixer=0 lact : 1 full", "asks for 0 layers of lact"},
        Mistake{"lm_tiny", "mixer=3 lact, 1 full", "is not a mixer or a pattern of them"},
        Mistake{"lm_tiny", "mixer=lact :", "is not a mixer or a pattern of them"},
        Mistake{"lm_tiny", "mixer=", "is not a mixer or a pattern of them"},
        Mistake{"nvs_small", "lact.projection.conv_width=4", "patches of views have no order"},
        Mistake{"nvs_small", "ray_points.count=-1", "ray_points.count is -1, expected 0 to 256"},
        Mistake{"nvs_long_lrm_tiny", "ray_points.count=8", "but Long-LRM is told rays alone"},
        Mistake{"nvs_small", "head=gaussian", "expected one of image, gaussians"},
        Mistake{"nvs_small", "gaussians.keep_random=2", "gaussians.keep_random is 2, expected 0 to 1"},
        Mistake{"nvs_small", "mixer=mamba2_block", "and become Gaussians: head is image"},
        Mistake{"nvs_long_lrm_tiny", "gaussians.virtual_views=2",
                "gaussians.virtual_views 2, expected gaussians"},
        Mistake{"lm_tiny", "mixer=mamba2_block",
                "the layers of a model of views, Long-LRM; a language model has"},
        Mistake{"video_tiny", "visible_clean=65",
                "visible_clean is 65, expected -1 (all) or 0 to the 64 tokens"}));

TEST(ModelConfigs, ACleanChunkCanBeAnsweredOnlyInTheChannelsThatAreRead) {
  EXPECT_SENTENCE(resolve_config("video_tiny", {"in_channels=12", "prediction=clean"}),
                  "a chunk of 12 channels is read and one of 3 is answered");
}

/// The JSON of a field, by its path; absent if a part on the way is null.
Json* field_of(Json& config, const std::string& path) {
  Json* at = &config;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    if (!at->is_object()) return nullptr;
    at = &(*at)[path.substr(begin, end - begin)];
    begin = end + 1;
  }
  return at;
}

TEST(ModelConfigs, NoNumberIsTakenOutOfAllReason) {
  const std::vector<Json> unreasonable = {-2, -1e300, std::numeric_limits<int64_t>::max(), 1e300};
  each_default([&](const auto& config) {
    const Json json = options::write(config);
    size_t numbers = 0;
    for (const auto& field : options::describe(config)) {
      Json changed = json;
      Json* value = field_of(changed, field.path);
      if (value == nullptr || !value->is_number()) continue;
      ++numbers;
      for (const Json& bad : unreasonable) {
        // That of the paper is -4.6; logarithms and logits of Gaussians are below 0, too.
        const auto ends = [&](const char* name) { return field.path.ends_with(name); };
        if (bad == -2 &&
            (ends("step_shift") || ends("scale_bias") || ends("scale_max") || ends("opacity_bias")))
          continue;
        *value = bad;
        auto other = config;
        EXPECT_THROW(
            {
              options::read(changed, other);
              other.check();
            },
            Error)
            << field.path << " = " << bad;
      }
    }
    EXPECT_GT(numbers, 15U);
  });
}

TEST(LmConfig, FeedForwardIsTwoThirdsOfFourTimesTheWidthInStepsOf256) {
  EXPECT_EQ(lm_hidden_dim(64), 256);
  EXPECT_EQ(lm_hidden_dim(384), 1024);
  EXPECT_EQ(lm_hidden_dim(768), 2048);
  EXPECT_EQ(lm_hidden_dim(1000), 2816);
  EXPECT_EQ(lm_hidden_dim(1536), 4096);
  EXPECT_EQ(lm_hidden_dim(3072), 8192);
}

TEST(VideoConfig, ThreeFramesOf480By832PixelsAre4680Tokens) {
  EXPECT_EQ(VideoConfig{}.grid().tokens(), 4680);
}

TEST(NvsConfig, AnInputTokenHasRaysAndColours) {
  EXPECT_EQ(NvsConfig{}.input_channels(), 12 * 64);
  EXPECT_EQ(NvsConfig{}.output_channels(), 3 * 64);
}

}  // namespace
}  // namespace lact::models
