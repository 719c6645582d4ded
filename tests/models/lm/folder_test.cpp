#include "lact/models/lm/folder.h"

#include <filesystem>

#include "lact/base/options.h"
#include "lact/io/safetensors.h"
#include "lact/io/tensor_folder.h"
#include "lact/models/lm/presets.h"
#include "lact/models/lm/weights.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/limited_memory.h"
#include "support/temporary_folder.h"
#include "support/tiny_lm.h"

namespace lact::models {
namespace {

using lact::testing::make_lm;
using lact::testing::read_file;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_lm;
using lact::testing::tiny_lms;
using lact::testing::write_file;

/// A config that the authors' code has words for.
LmConfig plain() {
  auto config = tiny_lm();
  config.layer.memory.base_rate = 0.001;
  return config;
}

TEST(LmFolder, ComesBackTheSame) {
  for (const auto& [name, config] : tiny_lms()) {
    const TemporaryFolder folder;
    const auto model = make_lm(config);
    save_lm(folder / "model", *model);
    const auto again = load_lm(folder / "model");
    EXPECT_EQ(again->config(), config) << name;
    const at::Tensor ids = lact::testing::random_ids(1, 20);
    EXPECT_TRUE(again->forward(ids).equal(model->forward(ids))) << name;
    EXPECT_EQ(fingerprint(*again), fingerprint(*model)) << name;
  }
}

TEST(LmFolder, WeightsComeIntoAModelOfAnotherWindow) {
  const TemporaryFolder folder;
  auto config = tiny_lm();
  const auto model = make_lm(config);
  save_lm(folder / "model", *model);
  config.window_size /= 2;
  config.chunk_size /= 2;
  const auto changed = load_lm_as(config, folder / "model");
  EXPECT_EQ(changed->config(), config);
  const auto expected = model->named_parameters(), found = changed->named_parameters();
  for (const auto& one : expected) EXPECT_TRUE(found[one.key()].equal(one.value())) << one.key();
  const at::Tensor ids = lact::testing::random_ids(1, 40);
  EXPECT_FALSE(changed->forward(ids).equal(model->forward(ids)));

  auto deeper = tiny_lm();
  ++deeper.num_layers;
  EXPECT_SENTENCE(load_lm_as(deeper, folder / "model"), "what is changed may not change the weights");
  auto wider = tiny_lm();
  wider.feed_forward.hidden_dim *= 2;
  EXPECT_SENTENCE(load_lm_as(wider, folder / "model"), "has shape");
  auto window = tiny_lm();
  window.mixer = MixerKind::window;
  EXPECT_SENTENCE(load_lm_as(window, folder / "model"), "weights, not");
}

TEST(LmFolder, UsesTheAuthorsNamesWhereTheyExist) {
  const TemporaryFolder folder;
  save_lm(folder / "model", *make_lm(plain()));
  const auto json = options::read_json_file(folder / "model/config.json");
  EXPECT_EQ(json["model_type"], "lact_swiglu");
  EXPECT_EQ(json["hidden_size"], 16);
  EXPECT_EQ(json["w0_w2_low_rank"], 3);
  const auto tensors = io::read_tensor_folder(folder / "model");
  EXPECT_EQ(tensors.count("model.layers.1.attn.w0.w_left"), 1u);
  EXPECT_EQ(tensors.count("lm_head.weight"), 1u);
  EXPECT_EQ(tensors.count("model.layers.0.attn.momentum_proj.0.weight"), 1u);
}

TEST(LmFolder, PresetsAreTheAuthorsModels) {
  for (const auto& config : {lm_tiny(), lm_small(), lm_760m(), lm_3b_paper(), lm_3b_code()}) {
    const auto theirs = to_authors(config);
    ASSERT_TRUE(theirs.has_value());
    EXPECT_EQ(translate(*theirs), config);
  }
  auto ours = lm_tiny();
  ours.layer.memory.network = "linear";
  EXPECT_FALSE(to_authors(ours).has_value());
}

TEST(LmFolder, ShardsComeBackTheSame) {
  const TemporaryFolder folder;
  const auto model = make_lm(plain());
  save_lm(folder / "model", *model);
  const auto tensors = io::read_tensor_folder(folder / "model");
  io::write_tensor_folder(folder / "model", tensors, 4096);
  EXPECT_FALSE(std::filesystem::exists(folder / "model/model.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(folder / "model/model-00001-of-00010.safetensors") ||
              std::filesystem::exists(folder / "model/model.safetensors.index.json"));
  EXPECT_EQ(fingerprint(*load_lm(folder / "model")), fingerprint(*model));
  io::write_tensor_folder(folder / "model", tensors);
  EXPECT_FALSE(std::filesystem::exists(folder / "model/model.safetensors.index.json"));
  EXPECT_EQ(fingerprint(*load_lm(folder / "model")), fingerprint(*model));
}

TEST(LmFolder, OtherFloatingTypesLoad) {
  const TemporaryFolder folder;
  const auto model = make_lm(plain());
  save_lm(folder / "model", *model);
  auto tensors = io::read_tensor_folder(folder / "model");
  for (const auto type : {at::kBFloat16, at::kHalf}) {
    std::map<std::string, at::Tensor> rounded;
    for (const auto& [name, tensor] : tensors) rounded[name] = tensor.to(type);
    io::write_tensor_folder(folder / "model", rounded);
    const auto again = load_lm(folder / "model");
    const at::Tensor ids = lact::testing::random_ids(1, 20);
    EXPECT_LT(lact::testing::difference(again->forward(ids), model->forward(ids)), 0.1);
  }
}

TEST(LmFolder, MistakesAreSentences) {
  const TemporaryFolder folder;
  const std::string path = folder / "model";
  EXPECT_SENTENCE(load_lm(path), "is not a model folder");
  save_lm(path, *make_lm(plain()));
  const auto tensors = io::read_tensor_folder(path);
  const auto with = [&](auto change) {
    auto changed = tensors;
    change(changed);
    io::write_tensor_folder(path, changed);
  };
  with([](auto& all) { all.erase("model.norm.weight"); });
  EXPECT_SENTENCE(load_lm(path), "tensor model.norm.weight is missing");
  with([](auto& all) { all["extra"] = at::ones({1}); });
  EXPECT_SENTENCE(load_lm(path), "tensor extra is not part of this model");
  with([](auto& all) { all["model.norm.weight"] = at::ones({3}); });
  EXPECT_SENTENCE(load_lm(path), "tensor model.norm.weight has shape [3], expected [16]");
  with([](auto& all) { all["model.norm.weight"] = at::ones({16}, at::kLong); });
  EXPECT_SENTENCE(load_lm(path), "expected a floating point type");

  const std::string config = read_file(path + "/config.json");
  const auto with_config = [&](const std::string& from, const std::string& to) {
    std::string changed = config;
    changed.replace(changed.find(from), from.size(), to);
    write_file(path + "/config.json", changed);
  };
  with_config("lact_swiglu", "llama");
  EXPECT_SENTENCE(load_lm(path), "model_type is \"llama\"");
  with_config("\"num_lact_heads\"", "\"num_lact_head\"");
  EXPECT_SENTENCE(load_lm(path), "did you mean num_lact_heads");
  with_config("\"hidden_size\": 16", "\"hidden_size\": 17");
  EXPECT_SENTENCE(load_lm(path), "config.json");
  write_file(path + "/config.json", "{");
  EXPECT_SENTENCE(load_lm(path), "not valid JSON");
  std::filesystem::remove(path + "/config.json");
  EXPECT_SENTENCE(load_lm(path), "cannot be opened");
}

TEST(LmFolder, WeightsThatAreNoNumbersAreNamed) {
  const TemporaryFolder folder;
  const std::string path = folder / "model";
  save_lm(path, *make_lm(plain()));
  const auto good = io::read_tensor_folder(path);
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    for (const float bad : {INFINITY, -INFINITY, NAN}) {
      std::map<std::string, at::Tensor> spoiled;
      for (const auto& [name, tensor] : good)
        spoiled[name] = tensor.to(type, /*non_blocking=*/false, /*copy=*/true);
      spoiled.at("model.layers.1.mlp.up_proj.weight")[3][5] = bad;
      io::write_tensor_folder(path, spoiled);
      EXPECT_SENTENCE(
          load_lm(path),
          "model: tensor \"model.layers.1.mlp.up_proj.weight\" holds numbers that are infinite or NaN");
    }
  }
}

TEST(LmFolder, AConfigOfAnotherSizeTakesNoMemory) {
  const TemporaryFolder folder;
  const std::string path = folder / "model";
  auto config = tiny_lm();
  config.mixer = MixerKind::window;
  save_lm(path, *make_lm(config));
  const lact::testing::LimitedMemory limited(uint64_t(256) << 20);
  for (const int64_t width : {1 << 12, 1 << 20}) {
    auto wide = config;
    wide.model_dim = width;
    save_lm_config(path, wide);
    EXPECT_SENTENCE(load_lm(path), "parameters, but the weights beside it have ");
  }
  EXPECT_SENTENCE(load_lm(path), "model: config.json is that of a model of ");
}

TEST(LmFolder, AModelThatNoMachineHoldsIsASentence) {
  auto config = tiny_lm();
  config.mixer = MixerKind::window;
  config.model_dim = 1 << 20;
  EXPECT_SENTENCE(LanguageModel{config}, "not enough memory for a model of ");
}

TEST(LmFolder, AnIndexIsNotTrusted) {
  const TemporaryFolder folder;
  const std::string path = folder / "model";
  const auto model = make_lm(plain());
  save_lm(path, *model);
  io::write_tensor_folder(path, io::read_tensor_folder(path), 4096);
  const std::string index = path + "/model.safetensors.index.json";
  const auto json = options::read_json_file(index);
  auto changed = json;
  changed["weight_map"]["model.norm.weight"] = "../../etc/passwd.safetensors";
  write_file(index, changed.dump());
  EXPECT_SENTENCE(load_lm(path), "in the same folder");
  changed = json;
  changed["weight_map"]["more"] = json["weight_map"]["model.norm.weight"];
  write_file(index, changed.dump());
  EXPECT_SENTENCE(load_lm(path), "tensor more is missing");
  changed = json;
  changed["weight_map"].erase("model.norm.weight");
  write_file(index, changed.dump());
  EXPECT_SENTENCE(load_lm(path), "does not place there");
  write_file(index, "[]");
  EXPECT_SENTENCE(load_lm(path), "has no object weight_map");
}

}  // namespace
}  // namespace lact::models
