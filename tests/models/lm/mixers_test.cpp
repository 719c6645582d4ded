// What a language model must do whatever its mixer is.
#include <ATen/ATen.h>

#include <set>

#include "lact/models/common/config_file.h"
#include "lact/models/common/state_file.h"
#include "lact/models/lm/folder.h"
#include "lact/models/lm/memory_file.h"
#include "lact/ops/attention/windows.h"
#include "support/dependence.h"
#include "support/errors.h"
#include "support/places.h"
#include "support/temporary_folder.h"
#include "support/tiny_lm.h"

namespace lact::models {
namespace {

using lact::testing::lm_mixers;
using lact::testing::make_lm;
using lact::testing::random_ids;
using lact::testing::row;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_lm;
using lact::testing::write_file;

LmConfig with_mixer(const MixerPattern& mixer, int64_t chunk = 8, int64_t window = 5) {
  LmConfig config = tiny_lm(chunk, window);
  config.mixer = mixer;
  return config;
}

int64_t greedy(const at::Tensor& logits) { return logits.argmax(-1).item<int64_t>(); }

TEST(LmMixers, GreedyTokensOfDecodingAreThoseOfTheWholeText) {
  at::NoGradGuard no_grad;
  constexpr int64_t kPrompt = 20, kTokens = 2000;
  for (const auto& mixer : lm_mixers()) {
    auto config = with_mixer(mixer, 64, 48);
    config.layer.memory.update.muon = false;  // it turns rounding into other directions
    const auto model = make_lm(config);
    at::Tensor ids = at::cat({random_ids(1, kPrompt), at::zeros({1, kTokens}, at::kLong)}, 1);
    LmStream stream(model);
    stream.read(row(ids, 0, kPrompt));
    for (int64_t i = kPrompt; i < kPrompt + kTokens; ++i) {
      ids[0][i] = greedy(stream.next_logits());
      stream.read(row(ids, i, 1));
    }
    const at::Tensor chosen = model->forward(ids)[0].argmax(-1).slice(0, kPrompt - 1, kPrompt + kTokens - 1);
    const at::Tensor written = ids[0].slice(0, kPrompt);
    EXPECT_EQ((chosen == written).sum().item<int64_t>(), kTokens) << mixer.text();
    // A text that says one thing for ever would prove little.
    EXPECT_GT(std::get<0>(at::_unique(written)).numel(), 2) << mixer.text();
  }
}

/// What a layer of this mixer lets a token know of a text.
at::Tensor predicted(MixerKind kind, const SequenceLayout& layout) {
  if (kind == MixerKind::lact || kind == MixerKind::ttt) return layout_mask(layout);
  if (kind == MixerKind::window) return ops::window_mask(layout.window, layout.tokens);
  return ops::window_mask(full_window(layout), layout.tokens);
}

TEST(LmMixers, ALayerDependsOnExactlyWhatIsPredicted) {
  const SequenceLayout layout = causal_layout(13, 5, 2);
  for (const auto& pattern : lm_mixers()) {
    const MixerKind kind = pattern.kind_of(0);
    at::manual_seed(5);
    const auto layer = make_layer(16, kind, with_mixer(pattern).layer);
    layer->to(at::kDouble);
    at::NoGradGuard no_grad;
    for (auto& parameter : layer->parameters()) parameter.add_(at::randn_like(parameter) * 0.3);
    const auto forward = [&](const at::Tensor& x) { return layer->forward(x, layout); };
    lact::testing::expect_same_mask(
        lact::testing::measured_dependence(forward, at::randn({1, 13, 16}, at::kDouble), 1),
        predicted(kind, layout).logical_or(at::eye(13, at::kBool)), pattern.text());
  }
}

TEST(LmMixers, TheStateGrowsWithFullAttentionAlone) {
  for (const auto& mixer : lm_mixers()) {
    const auto model = make_lm(with_mixer(mixer, 16, 8));
    LmStream stream(model);
    const at::Tensor ids = random_ids(1, 64);
    stream.read(row(ids, 0, 64));
    const int64_t before = state_bytes(stream.state());
    stream.read(row(ids, 0, 64));
    // Keys and values of 64 tokens, 16 channels of float32, in each block with full attention.
    const int64_t full = mixer.count_of(MixerKind::full, 2);
    EXPECT_EQ(state_bytes(stream.state()) - before, full * 2 * 64 * 16 * 4) << mixer.text();
  }
}

TEST(LmMixers, MemoryFilesComeBackToTheBitInEveryFormat) {
  const TemporaryFolder folder;
  const at::Tensor ids = random_ids(1, 53);
  for (const auto& mixer : lm_mixers()) {
    for (const auto cache : {ops::CacheFormat::automatic, ops::CacheFormat::bf16, ops::CacheFormat::int8}) {
      for (const auto type : {at::kFloat, at::kBFloat16}) {
        const auto model = make_lm(with_mixer(mixer));
        model->set_compute_type(type);
        model->set_cache(cache);
        const std::string hash = fingerprint(*model), path = folder / "text.mem";
        LmStream stream(model);
        stream.read(row(ids, 0, 29));
        save_memory(path, stream, hash);
        LmStream loaded = load_memory(path, model, hash);
        const std::string what = mixer.text() + ", " + std::string(options::word_of(cache));
        const auto kept = tensors_of(stream.state()), came_back = tensors_of(loaded.state());
        ASSERT_EQ(kept.size(), came_back.size()) << what;
        for (const auto& [name, tensor] : kept)
          EXPECT_TRUE(came_back.at(name).to(at::kDouble).equal(tensor.to(at::kDouble))) << what << name;
        for (LmStream* each : {&stream, &loaded}) each->read(row(ids, 29, 24));
        EXPECT_TRUE(loaded.next_logits().equal(stream.next_logits())) << what;
      }
    }
  }
}

// Files of earlier versions, which had layer.memory_kind instead of the word.

TEST(LmMixers, AConfigWithAMemoryKindIsReadAsTheMixerItMeant) {
  const options::Json none = {{"task", "lm"}, {"layer", {{"memory_kind", "none"}}}};
  EXPECT_EQ(in_todays_words(none)["mixer"], "window");
  EXPECT_FALSE(in_todays_words(none)["layer"].contains("memory_kind"));
  const options::Json lact = {{"layer", {{"memory_kind", "lact"}}}};
  EXPECT_FALSE(in_todays_words(lact).contains("mixer"));
  EXPECT_FALSE(in_todays_words(lact)["layer"].contains("memory_kind"));
  const options::Json both = {{"mixer", "full"}, {"layer", {{"memory_kind", "none"}}}};
  EXPECT_SENTENCE(in_todays_words(both), "memory_kind is none, which is mixer window, but mixer is \"full\"");
}

TEST(LmMixers, AFolderOfAnEarlierVersionLoads) {
  const TemporaryFolder folder;
  const auto model = make_lm(with_mixer(MixerKind::window));
  save_lm(folder / "model", *model);
  auto json = options::read_json_file(folder / "model/config.json");
  json["model"].erase("mixer");
  for (const char* later : {"gla", "deltanet", "mamba2", "ttt"}) json["model"]["layer"].erase(later);
  json["model"]["layer"]["memory_kind"] = "none";
  write_file(folder / "model/config.json", json.dump());
  const auto again = load_lm(folder / "model");
  LmConfig found = again->config();
  const auto& layer = model->config().layer;  // what is not in use was not written down
  found.layer.gla = layer.gla, found.layer.deltanet = layer.deltanet;
  found.layer.mamba2 = layer.mamba2, found.layer.ttt = layer.ttt;
  EXPECT_EQ(found, model->config());
  EXPECT_EQ(fingerprint(*again), fingerprint(*model));
}

/// The text of a config that an earlier version wrote, and that its fingerprints covered.
TEST(LmMixers, FingerprintsCoverWhatEarlierVersionsWrote) {
  const std::string path = lact::testing::source_folder() + "/tests/models/lm/examples/with_memory_kind.json";
  options::Json before = options::read_json_file(path);
  for (const char* kind : {"lact", "none"}) {
    before["layer"]["memory_kind"] = kind;
    LmConfig config;
    options::read(in_todays_words(before), config);
    EXPECT_EQ(config.mixer.text(), std::string(kind) == "none" ? "window" : "lact");
    EXPECT_EQ(fingerprinted_text(options::write(config), /*had_mixer=*/false), before.dump());
  }
  LmConfig full, gla;
  full.mixer = MixerKind::full;
  gla.mixer = MixerKind::gla;
  LmConfig more_heads = gla;
  more_heads.layer.gla.num_heads *= 2;
  std::set<std::string> texts;
  for (const auto& config : {LmConfig{}, full, gla, more_heads})
    texts.insert(fingerprinted_text(options::write(config), /*had_mixer=*/false));
  EXPECT_EQ(texts.size(), 4U);
}

}  // namespace
}  // namespace lact::models
