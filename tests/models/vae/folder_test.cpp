#include "lact/models/vae/folder.h"

#include <filesystem>

#include "lact/io/safetensors.h"
#include "support/errors.h"
#include "support/places.h"
#include "support/temporary_folder.h"
#include "support/tiny_vae.h"

namespace lact::models {
namespace {

using lact::testing::TemporaryFolder;
using lact::testing::tiny_vae;

TEST(VaeFolder, ComesBackTheSame) {
  const TemporaryFolder folder;
  const Vae model(tiny_vae());
  save_vae(folder / "model", model);
  const auto again = load_vae(folder / "model");
  EXPECT_EQ(again->config(), model.config());
  EXPECT_EQ(fingerprint(*again), fingerprint(model));
  save_vae(folder / "narrow", model, at::kBFloat16);
  EXPECT_EQ(load_vae(folder / "narrow")->parameters().front().scalar_type(), at::kFloat);
}

TEST(VaeFolder, ACheckpointFileTellsItsSizes) {
  const TemporaryFolder folder;
  for (VaeConfig config : {tiny_vae(), vae_tiny(), vae_small()}) {
    config.latent_mean = config.latent_std = {};
    const Vae model(config);
    save_vae(folder / "model", model);
    const auto again = load_vae(folder / "model/model.safetensors");
    EXPECT_EQ(again->config(), config);
    EXPECT_EQ(fingerprint(*again), fingerprint(model));
  }
}

TEST(VaeFolder, TheConstructorArgumentsOfTheAuthorsTranslate) {
  const auto json =
      options::Json::parse(R"({"dim": 96, "z_dim": 16, "dim_mult": [1, 2, 4, 4], "num_res_blocks": 2,
    "temperal_downsample": [false, true, true]})");
  VaeConfig published = vae_wan();
  published.latent_mean = published.latent_std = {};
  EXPECT_EQ(translate(read_authors_vae(json, "options")), published);
  EXPECT_SENTENCE(read_authors_vae(options::Json::parse(R"({"temperal_downsample": [1]})"), "options"),
                  "options.temperal_downsample");
  EXPECT_SENTENCE(read_authors_vae(options::Json::parse(R"({"dims": 1})"), "options"),
                  "did you mean options.dim");
}

/// The latent scale stands in no checkpoint: a file with the published sizes has the published one.
TEST(VaeFolder, PublishedSizesHaveThePublishedScale) {
  std::map<std::string, at::Tensor> shapes;
  const at::Tensor one = at::zeros({1});
  const auto add = [&](const std::string& name, std::vector<int64_t> sizes) {
    shapes[name] = one.expand(sizes);
  };
  add("encoder.conv1.weight", {96, 3, 3, 3, 3});
  add("conv2.weight", {16, 16, 1, 1, 1});
  const int64_t widths[] = {96, 192, 384, 384};
  int index = 0;
  for (int stage = 0; stage < 4; ++stage) {
    for (int i = 0; i < 2; ++i)
      add(fmt::format("encoder.downsamples.{}.residual.2.weight", index++), {widths[stage], 1, 3, 3, 3});
    if (stage < 3)
      add(fmt::format("encoder.downsamples.{}.resample.1.weight", index), {widths[stage], 1, 3, 3});
    if (stage == 1 || stage == 2)
      add(fmt::format("encoder.downsamples.{}.time_conv.weight", index), {widths[stage], 1, 3, 1, 1});
    ++index;
  }
  EXPECT_EQ(vae_of_checkpoint(shapes, "Wan2.1_VAE.pth"), vae_wan());
}

TEST(VaeFolder, MistakesAreSentences) {
  const TemporaryFolder folder;
  EXPECT_SENTENCE(load_vae(folder / "nothing"), "is not a model folder");
  save_vae(folder / "model", Vae(tiny_vae()));
  const std::string weights = folder / "model/model.safetensors", config = folder / "model/config.json";
  auto file = io::read_safetensors(weights);
  const at::Tensor first = file.tensors["encoder.conv1.weight"];
  file.tensors.erase("encoder.conv1.weight");
  io::write_safetensors(weights, file);
  EXPECT_SENTENCE(load_vae(folder / "model"), "tensor encoder.conv1.weight is missing");
  EXPECT_SENTENCE(load_vae(weights), "no video autoencoder");
  file.tensors["encoder.conv1.weight"] = first.narrow(1, 0, 2).contiguous();
  io::write_safetensors(weights, file);
  EXPECT_SENTENCE(load_vae(folder / "model"), "tensor encoder.conv1.weight has shape [4, 2, 3, 3, 3]");
  lact::testing::write_file(config, R"({"model_type": "lact_nvs", "model": {}})");
  EXPECT_SENTENCE(load_vae(folder / "model"), "model_type is lact_nvs, expected wan_vae");
  lact::testing::write_file(config, R"({"model_type": "wan_vae", "model": {"base_chanels": 3}})");
  EXPECT_SENTENCE(load_vae(folder / "model"), "did you mean model.base_channels?");
  lact::testing::write_file(folder / "broken.pth", "nothing");
  EXPECT_SENTENCE(load_vae(folder / "broken.pth"), "broken.pth");
}

TEST(VaeFolder, TheTinyPublishedFileLoads) {
  const auto golden = std::filesystem::path(testing::source_folder()) / "tests/golden/models/wan_vae_tiny";
  const auto model = load_vae((golden / "model.safetensors").string());
  EXPECT_EQ(model->config().base_channels, 4);
  EXPECT_EQ(model->config().channel_multiples, (std::vector<int64_t>{1, 2, 4, 4}));
  EXPECT_EQ(model->config().time_strides, (std::vector<int64_t>{1, 2, 2}));
}

}  // namespace
}  // namespace lact::models
