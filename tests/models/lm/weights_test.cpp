// The authors' published configs, key for key.
#include "lact/models/lm/weights.h"

#include "lact/io/tensor_folder.h"
#include "lact/models/lm/folder.h"
#include "lact/models/lm/presets.h"
#include "lact/models/presets.h"
#include "support/errors.h"
#include "support/places.h"
#include "support/temporary_folder.h"
#include "support/tiny_lm.h"

namespace lact::models {
namespace {

using lact::testing::TemporaryFolder;
using options::Json;

std::string published_lm(const std::string& name) {
  return lact::testing::source_folder() + "/tests/models/lm/examples/" + name + ".json";
}

LmConfig authors_lm(const std::string& name) {
  return std::get<LmConfig>(resolve_config(published_lm(name)));
}

TEST(AuthorsLm, PublishedConfigsAreThePresets) {
  EXPECT_EQ(authors_lm("760M_momentum_muon"), lm_760m());
  EXPECT_EQ(authors_lm("3B_momentum_muon"), lm_3b_code());
  LmConfig momentum = lm_760m();
  momentum.layer.memory.update.muon = false;
  EXPECT_EQ(authors_lm("760M_momentum"), momentum);
  momentum.layer.memory.silu_v = false;
  EXPECT_EQ(authors_lm("760M_momentum_fused_kernel"), momentum);
}

// Their own code cannot build this one: 25 heads do not divide 3072 channels.
TEST(AuthorsLm, ExchangedHeadsAndLayersAreToldByName) {
  EXPECT_SENTENCE(authors_lm("3B_momentum"),
                  "3B_momentum.json: num_attn_heads is 25, expected a divisor of hidden_size 3072; "
                  "num_hidden_layers is 24: are the two exchanged?");
}

TEST(AuthorsLm, PaperAndPublishedConfigOf3BDifferInDepthAndWindow) {
  LmConfig paper = lm_3b_paper();
  EXPECT_EQ(paper.num_layers, 25);
  EXPECT_EQ(paper.chunk_size, 4096);
  paper.num_layers = 24;
  paper.chunk_size = paper.window_size = 2048;
  EXPECT_EQ(paper, lm_3b_code());
}

TEST(AuthorsLm, AFolderWithSuchAConfigLoads) {
  auto config = lact::testing::tiny_lm();
  config.layer.memory.base_rate = 0.001;
  const auto model = lact::testing::make_lm(config);
  const TemporaryFolder folder;
  save_lm(folder / "model", *model);
  const std::string file = folder / "model/config.json";
  Json json = options::read_json_file(file);
  json["attention_bias"] = false;
  json["fp32_states"] = true;
  json["hidden_ratio"] = nullptr;
  lact::testing::write_file(file, json.dump());
  EXPECT_EQ(fingerprint(*load_lm(folder / "model")), fingerprint(*model));
  EXPECT_EQ(std::get<LmConfig>(resolve_config(folder / "model")), config);
}

TEST(AuthorsLm, AKeyWithAnotherMeaningIsOneSentence) {
  const TemporaryFolder folder;
  const std::string file = folder / "config.json";
  const auto with = [&](const char* key, const Json& value) {
    Json json = options::read_json_file(published_lm("760M_momentum_muon"));
    json[key] = value;
    lact::testing::write_file(file, json.dump());
    return file;
  };
  EXPECT_SENTENCE(resolve_config(with("attention_bias", true)),
                  file + ": attention_bias is true, expected false: biases of q, k and v are qkv_bias");
  EXPECT_SENTENCE(resolve_config(with("elementwise_affine", false)),
                  "elementwise_affine is false, expected true");
  EXPECT_SENTENCE(resolve_config(with("hidden_act", "gelu")), "hidden_act is \"gelu\", expected swish");
  EXPECT_SENTENCE(resolve_config(with("lr_parameterization", "linear")),
                  "lr_parameterization is \"linear\", expected mamba");
  EXPECT_SENTENCE(resolve_config(with("ttt_loss_type", "l2")),
                  "ttt_loss_type is \"l2\", expected dot_product");
  EXPECT_SENTENCE(resolve_config(with("ttt_loss_type", "l2")), file);
  EXPECT_SENTENCE(resolve_config(with("num_lact_head", 4)), "did you mean num_lact_heads?");
  LmConfig biased = lm_760m();
  biased.layer.projection.qkv_bias = true;
  EXPECT_EQ(std::get<LmConfig>(resolve_config(with("qkv_bias", true))), biased);
}

}  // namespace
}  // namespace lact::models
