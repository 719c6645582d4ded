// The authors' published YAML, key for key.
#include "lact/models/nvs/weights.h"

#include "lact/io/yaml.h"
#include "lact/models/nvs/folder.h"
#include "lact/models/nvs/presets.h"
#include "lact/models/presets.h"
#include "support/errors.h"
#include "support/places.h"

namespace lact::models {
namespace {

using options::Json;

std::string published_nvs(const std::string& name) {
  return lact::testing::source_folder() + "/tests/models/nvs/examples/" + name + ".yaml";
}

NvsConfig authors_nvs(const std::string& name) {
  return std::get<NvsConfig>(resolve_config(published_nvs(name)));
}

TEST(AuthorsNvs, PublishedConfigsAreThePresets) {
  EXPECT_EQ(authors_nvs("lact_l24_d768_ttt2x"), nvs_312m());
  EXPECT_EQ(authors_nvs("lact_l24_d768_ttt4x"), nvs_4x());
  EXPECT_EQ(authors_nvs("lact_l14_d768_ttt2x"), nvs_14_layers());
}

TEST(AuthorsNvs, AKeyWithAnotherMeaningIsOneSentence) {
  const Json good = io::read_yaml_file(published_nvs("lact_l24_d768_ttt2x"));
  const auto with = [&](const std::string& pointer, const Json& value) {
    Json json = good;
    json[Json::json_pointer(pointer)] = value;
    return nvs_config_of(json, "their.yaml");
  };
  EXPECT_SENTENCE(with("/block_config/1/length_dim", "l"),
                  "their.yaml: block_config.1.length_dim is \"l\", expected vl");
  EXPECT_SENTENCE(with("/block_config/0/type", "model.CrossAttention"),
                  "block_config.0.type is \"model.CrossAttention\", expected model.SelfAttention");
  EXPECT_SENTENCE(with("/block_config/2/lenght_dim", "vl"), "did you mean block_config.2.length_dim?");
  EXPECT_SENTENCE(with("/block_config/0/params/head_dims", 64),
                  "did you mean block_config.0.params.head_dim?");
  EXPECT_SENTENCE(with("/layer", 3), "did you mean layers?");
  EXPECT_SENTENCE(with("/block_config", Json::array()), "has 0 parts, expected attention, LaCT and MLP");
}

}  // namespace
}  // namespace lact::models
