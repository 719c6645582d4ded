// The authors' published YAML.
#include "lact/models/video/authors_config.h"

#include "lact/io/yaml.h"
#include "lact/models/presets.h"
#include "lact/models/video/folder.h"
#include "lact/models/video/presets.h"
#include "support/errors.h"
#include "support/places.h"

namespace lact::models {
namespace {

using options::Json;

const std::string kPublishedVideo =
    lact::testing::source_folder() + "/tests/models/video/examples/lact_ar_chunk3f_1.3B.yaml";

TEST(AuthorsVideo, PublishedConfigIsThePreset) {
  EXPECT_EQ(std::get<VideoConfig>(resolve_config(kPublishedVideo)), video_1_3b());
  EXPECT_EQ(video_1_3b(), VideoConfig{});
}

/// The published file with another value somewhere in the transformer or its layer.
class AuthorsVideoKeys : public ::testing::Test {
 protected:
  VideoConfig with(const std::string& key, const Json& value) {
    Json json = io::read_yaml_file(kPublishedVideo);
    Json& model = json["model"]["diffusion_config"]["model_config"];
    (key.starts_with("layer.") ? model["efficient_attn_config"][0][key.substr(6)] : model[key]) = value;
    return video_config_of(json, "their.yaml");
  }
};

TEST_F(AuthorsVideoKeys, OtherSizesAreRead) {
  EXPECT_EQ(with("layer.fw_head_dim", 1536).layer.memory.num_heads, 1);
  EXPECT_EQ(with("layer.kv_cache_size", 1560).visible_clean, 1560);
  EXPECT_TRUE(with("layer.use_moun", true).layer.memory.update.muon);
  EXPECT_EQ(with("layer.update_every", 14040), video_1_3b());  // noise repeats are a matter of training
  EXPECT_EQ(with("num_layers", 2).num_layers, 2);
}

TEST_F(AuthorsVideoKeys, AKeyWithAnotherMeaningIsOneSentence) {
  EXPECT_SENTENCE(
      with("attn_every_n_layers", 4),
      "their.yaml: model.diffusion_config.model_config.attn_every_n_layers is 4, expected more than "
      "num_layers 30");
  EXPECT_SENTENCE(with("model_type", "i2v"), "model_type is i2v, expected t2v");
  EXPECT_SENTENCE(with("cross_attn_norm", false), "cross_attn_norm is false, expected true");
  EXPECT_SENTENCE(with("layer.w_init", "identity"), "w_init is \"identity\", expected \"clean\"");
  EXPECT_SENTENCE(with("layer.class_name", "other.Attention"), "expected a ARFastWeightSwiGLU");
  EXPECT_SENTENCE(with("layer.local_window_size", 1560),
                  "local_window_size is 1560, expected the 4680 tokens");
  EXPECT_SENTENCE(with("layer.update_every", 5000), "update_every is 5000, expected a multiple");
  EXPECT_SENTENCE(with("layer.ar_window_f", 6), "ar_window_size is 3, expected the ar_window_f");
  EXPECT_SENTENCE(with("layer.use_muon", true), "did you mean");
  EXPECT_SENTENCE(with("efficient_attn_config", nullptr), "efficient_attn_config is null, expected a layer");
}

}  // namespace
}  // namespace lact::models
