#include "lact/models/video/folder.h"

#include <filesystem>

#include "lact/io/safetensors.h"
#include "lact/io/tensor_folder.h"
#include "lact/models/common/config_file.h"
#include "lact/models/video/presets.h"
#include "lact/models/video/weights.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/places.h"
#include "support/temporary_folder.h"
#include "support/tiny_video.h"

namespace lact::models {
namespace {

using lact::testing::difference;
using lact::testing::kVideoMixers;
using lact::testing::make_video;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_clip;
using lact::testing::tiny_video;
using lact::testing::write_file;
using Tensors = std::map<std::string, at::Tensor>;

/// What Wan's checkpoint of the model's sizes holds, with the model's values.
Tensors wan_tensors(const VideoModel& model) {
  VideoConfig window = model.config();
  window.mixer = MixerKind::window;
  return export_foreign(model, foreign_names(window));
}

TEST(VideoFolder, ComesBackTheSame) {
  VideoConfig linear = tiny_video();
  linear.layer.memory.network = "linear";
  std::vector<VideoConfig> configs = {linear};
  for (const MixerKind mixer : kVideoMixers) configs.push_back(tiny_video(mixer));
  for (const VideoConfig& config : configs) {
    const TemporaryFolder folder;
    const auto model = make_video(config);
    save_video(folder / "model", *model);
    const auto again = load_video(folder / "model");
    EXPECT_EQ(again->config(), config);
    EXPECT_EQ(fingerprint(*again), fingerprint(*model));
    const auto clip = tiny_clip(config, 3, 1, 1);
    EXPECT_TRUE(clip.run(*again).equal(clip.run(*model)));
  }
}

TEST(VideoFolder, Bfloat16TakesHalfTheSpace) {
  const TemporaryFolder folder;
  const auto model = make_video(tiny_video());
  save_video(folder / "wide", *model);
  save_video(folder / "narrow", *model, at::kBFloat16);
  const auto size = [&](const std::string& name) {
    return double(std::filesystem::file_size(folder / (name + "/model.safetensors")));
  };
  EXPECT_LT(size("narrow"), 0.6 * size("wide"));
  const auto again = load_video(folder / "narrow");
  const auto clip = tiny_clip(tiny_video(), 3, 1, 1);
  EXPECT_LT(difference(clip.run(*again), clip.run(*model)), 0.1);
  EXPECT_SENTENCE(save_video(folder / "half", *model, at::kHalf), "float32 or bfloat16, not as Half");
}

TEST(VideoFolder, NotesComeBack) {
  const TemporaryFolder folder;
  const auto model = make_video(tiny_video());
  save_video(folder / "model", *model, at::kFloat, {{"codec", {{"kind", "identity"}}}});
  EXPECT_EQ(read_video_notes(folder / "model"), (options::Json{{"codec", {{"kind", "identity"}}}}));
  EXPECT_EQ(read_video_config(folder / "model"), tiny_video());
  EXPECT_SENTENCE(save_video_config(folder / "model", tiny_video(), {{"model", 1}}),
                  "a note cannot be called model");
}

TEST(VideoFolder, UsesWansNamesWhereTheyExist) {
  const TemporaryFolder folder;
  save_video(folder / "theirs", *make_video(tiny_video()));
  const Tensors theirs = io::read_tensor_folder(folder / "theirs");
  for (const char* name :
       {"patch_embedding.weight", "text_embedding.2.bias", "time_projection.1.weight",
        "blocks.1.self_attn.norm_q.weight", "blocks.0.cross_attn.k.weight", "blocks.0.norm3.bias",
        "blocks.1.ffn.2.weight", "head.modulation", "blocks.1.self_attn.w2", "blocks.1.self_attn.qk_offset"})
    EXPECT_EQ(theirs.count(name), 1u) << name;
  EXPECT_EQ(theirs.at("patch_embedding.weight").sizes(), at::IntArrayRef({32, 3, 1, 2, 2}));
  EXPECT_EQ(theirs.at("blocks.0.modulation").sizes(), at::IntArrayRef({1, 6, 32}));
}

TEST(VideoWeights, WanLoadsAndIsWindowAttention) {
  const TemporaryFolder folder;
  const auto window = make_video(tiny_video(MixerKind::window), 1);
  const std::string file = folder / "wan.safetensors";
  io::write_safetensors(file, {wan_tensors(*window), {}});
  at::manual_seed(2);
  VideoModel model(tiny_video());
  load_video_weights(model, file);
  const auto clip = tiny_clip(tiny_video(), 4, 2, 1);
  EXPECT_TRUE(clip.run(model).equal(clip.run(*window)));

  // Below a name, as trainers keep it.
  Tensors nested;
  for (const auto& [name, tensor] : wan_tensors(*window)) nested["generator.model." + name] = tensor;
  io::write_safetensors(file, {nested, {}});
  VideoModel full(tiny_video(MixerKind::full));
  load_video_weights(full, file);
  EXPECT_TRUE(wan_tensors(full)
                  .at("blocks.1.self_attn.k.weight")
                  .equal(wan_tensors(*window).at("blocks.1.self_attn.k.weight")));
}

TEST(VideoWeights, AuthorsCheckpointLoadsWhole) {
  const TemporaryFolder folder;
  const auto model = make_video(tiny_video(), 1), again = make_video(tiny_video(), 2);
  const std::string file = folder / "lact.safetensors";
  Tensors tensors = export_foreign(*model, foreign_names(model->config()));
  io::write_safetensors(file, {tensors, {}});
  load_video_weights(*again, file);
  EXPECT_EQ(fingerprint(*again), fingerprint(*model));

  tensors.erase("blocks.1.self_attn.w1");
  io::write_safetensors(file, {tensors, {}});
  EXPECT_SENTENCE(load_video_weights(*again, file), "tensor blocks.1.self_attn.w1 is missing");
  EXPECT_EQ(fingerprint(*again), fingerprint(*model));
  EXPECT_SENTENCE(load_video_weights(*make_video(tiny_video(MixerKind::window)), file),
                  "is not part of this model");
  tensors.erase("patch_embedding.weight");
  io::write_safetensors(file, {tensors, {}});
  EXPECT_SENTENCE(load_video_weights(*again, file), "so it is no video model");
}

TEST(VideoWeights, GroupsOfParameters) {
  const auto parameters = make_video(tiny_video())->named_parameters();
  const auto window = make_video(tiny_video(MixerKind::window))->named_parameters();
  int64_t added = 0, attention = 0;
  for (const auto& item : parameters) {
    EXPECT_EQ(is_memory_parameter(item.key()), !window.contains(item.key())) << item.key();
    added += is_memory_parameter(item.key());
    attention += is_self_attention_parameter(item.key());
    if (is_memory_parameter(item.key())) {
      EXPECT_TRUE(is_self_attention_parameter(item.key())) << item.key();
    }
  }
  // Three matrices, rates, scale, norm, scale and shift of q and k; and Wan's q, k, v, output and norms.
  EXPECT_EQ(added, 2 * (3 + 2 + 2 + 1 + 2));
  EXPECT_EQ(attention, added + 2 * (2 + 2 + 2));
  EXPECT_FALSE(is_self_attention_parameter("block0.cross_attention.projection.qkv.weight"));
}

TEST(VideoFolder, PublishedWanFolderLoads) {
  const TemporaryFolder folder;
  const auto window = make_video(tiny_video(MixerKind::window));
  std::filesystem::create_directories(folder / "wan");
  const std::string config = folder / "wan/config.json";
  const auto write = [&](const std::string& type) {
    write_file(config, R"({"_class_name": "WanModel", "_diffusers_version": "0.30.0", "dim": 32, "eps": 1e-06,
      "ffn_dim": 48, "freq_dim": 16, "in_dim": 3, "model_type": ")" +
                           type + R"(", "num_heads": 2, "num_layers": 2, "out_dim": 3, "text_len": 5,
      "text_dim": 6})");
  };
  write("t2v");
  io::write_safetensors(folder / "wan/diffusion_pytorch_model.safetensors", {wan_tensors(*window), {}});
  const auto model = load_video(folder / "wan");
  EXPECT_EQ(model->config().layer, video_layer(2, 2, 2));
  EXPECT_EQ(model->config().chunk_frames, 3);
  EXPECT_TRUE(read_video_notes(folder / "wan").empty());
  EXPECT_TRUE(wan_tensors(*model).at("head.head.weight").equal(wan_tensors(*window).at("head.head.weight")));
  write("i2v");
  EXPECT_SENTENCE(load_video(folder / "wan"), "model_type is i2v, expected t2v");
}

TEST(VideoWeights, PresetsAreWan) {
  WanModel small, large;
  small.dim = 1536, small.ffn_dim = 8960, small.num_heads = 12, small.num_layers = 30;
  large.dim = 5120, large.ffn_dim = 13824, large.num_heads = 40, large.num_layers = 40;
  EXPECT_EQ(translate(small), video_1_3b());
  EXPECT_EQ(translate(large), video_14b());
}

TEST(VideoFolder, MistakesAreSentences) {
  const TemporaryFolder folder;
  EXPECT_SENTENCE(load_video(folder / "nothing"), "is not a model folder");
  save_video(folder / "model", *make_video(tiny_video()));
  const std::string config = folder / "model/config.json";
  const std::string good = lact::testing::read_file(config);
  write_file(config, R"({"model_type": "lact_nvs"})");
  EXPECT_SENTENCE(load_video(folder / "model"), "so it is no video model");
  write_file(config, R"({"model_type": "lact_video"})");
  EXPECT_SENTENCE(load_video(folder / "model"), "has no field model");
  write_file(config, R"({"model_type": "lact_video", "model": {"mixer": "half"}})");
  EXPECT_SENTENCE(load_video(folder / "model"), "config.json");
  auto other = options::Json::parse(good);
  other["model"]["in_channels"] = 4;
  write_file(config, other.dump());
  EXPECT_SENTENCE(load_video(folder / "model"),
                  "tensor patch_embedding.weight has shape [32, 3, 1, 2, 2], expected [32, 4, 1, 2, 2]");
  write_file(config, good);
  std::filesystem::remove(folder / "model/model.safetensors");
  EXPECT_SENTENCE(load_video(folder / "model"), "holds neither model.safetensors nor");
}

/// Without the parameters of memories, those of the two are the same.
void expect_same_but_memories(const VideoModel& a, const VideoModel& b) {
  const auto of_b = b.named_parameters();
  for (const auto& item : a.named_parameters())
    if (!is_memory_parameter(item.key())) EXPECT_TRUE(item.value().equal(of_b[item.key()])) << item.key();
}

TEST(VideoFolder, BeginsAModelWithAnotherMixer) {
  const MixerPattern pattern = MixerPattern::parse("1 lact : 1 full");
  std::vector<MixerPattern> mixers(std::begin(kVideoMixers), std::end(kVideoMixers));
  mixers.push_back(pattern);
  for (const auto& from : mixers) {
    const TemporaryFolder folder;
    VideoConfig config = tiny_video();
    config.mixer = from;
    const auto model = make_video(config);
    save_video(folder / "model", *model);
    for (const auto& to : mixers) {
      config.mixer = to;
      const auto begun = load_video_as(config, folder / "model");
      EXPECT_EQ(begun->config(), config);
      expect_same_but_memories(*model, *begun);
      const auto theirs = model->named_parameters();
      for (const auto& item : begun->named_parameters()) {
        // A memory that was there stays; another one begins without effect.
        const bool first_block = item.key().starts_with("block0.");
        if (from.kind_of(first_block ? 0 : 1) == to.kind_of(first_block ? 0 : 1))
          EXPECT_TRUE(item.value().equal(theirs[item.key()])) << from.text() << " to " << to.text();
        else if (item.key().find(".memory.scale.") != std::string::npos)
          EXPECT_EQ(item.value().abs().max().item<double>(), 0) << from.text() << " to " << to.text();
      }
    }
  }
}

TEST(VideoFolder, WanBeginsEveryMixer) {
  const TemporaryFolder folder;
  const auto wan = make_video(tiny_video(MixerKind::window));
  save_video(folder / "model", *wan);
  const std::string file = folder / "wan.safetensors";
  io::write_safetensors(file, {wan_tensors(*wan), {}});
  for (const MixerKind mixer : kVideoMixers) {
    const auto model = make_video(tiny_video(mixer), 9);
    load_video_weights(*model, file);
    expect_same_but_memories(*wan, *model);
  }
}

TEST(VideoFolder, FingerprintsCoverWhatEarlierVersionsWrote) {
  const std::string path =
      lact::testing::source_folder() + "/tests/models/video/examples/with_memory_kind.json";
  const options::Json before = options::read_json_file(path);
  for (const char* mixer : {"lact", "window", "full"}) {
    options::Json json = before;
    json["mixer"] = mixer;
    VideoConfig config;
    options::read(in_todays_words(json), config);
    EXPECT_EQ(config.mixer.text(), mixer);
    EXPECT_EQ(fingerprinted_text(options::write(config), /*had_mixer=*/true), json.dump());
  }
}

}  // namespace
}  // namespace lact::models
