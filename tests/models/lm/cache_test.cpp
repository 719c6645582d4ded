// The window's keys and values in fewer bytes.
#include <ATen/ATen.h>

#include "lact/io/safetensors.h"
#include "lact/models/lm/folder.h"
#include "lact/models/lm/memory_file.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/temporary_folder.h"
#include "support/tiny_lm.h"

namespace lact::models {
namespace {

using lact::testing::difference;
using lact::testing::make_lm;
using lact::testing::random_ids;
using lact::testing::row;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_lm;
using ops::CacheFormat;

constexpr CacheFormat kCacheFormats[] = {CacheFormat::f32, CacheFormat::bf16, CacheFormat::int8};

/// Without Muon, which would turn the smallest change of a gradient into another direction.
std::shared_ptr<LanguageModel> with_cache(CacheFormat format, at::ScalarType type = at::kFloat) {
  auto config = tiny_lm(8, 12);
  config.layer.memory.update.muon = false;
  auto model = make_lm(config);
  model->set_cache(format);
  model->set_compute_type(type);
  return model;
}

/// Logits [T, vocabulary]: the first tokens at once, the rest one by one.
at::Tensor streamed_logits(LmStream& stream, const at::Tensor& ids, int64_t at_once) {
  std::vector<at::Tensor> rows;
  if (at_once > 0) stream.read(row(ids, 0, at_once));
  for (int64_t i = at_once; i < ids.size(1); ++i) {
    stream.read(row(ids, i, 1));
    rows.push_back(stream.next_logits());
  }
  return at::stack(rows);
}

/// Relative to the largest logit.
double cache_bound(CacheFormat format) {
  return format == CacheFormat::int8 ? 0.05 : format == CacheFormat::bf16 ? 0.02 : 1e-5;
}

TEST(LmCache, SaysNearlyTheSame) {
  at::manual_seed(7);
  const at::Tensor ids = random_ids(1, 45);
  LmStream reference(with_cache(CacheFormat::automatic));
  const at::Tensor expected = streamed_logits(reference, ids, 0);
  for (const auto format : kCacheFormats) {
    for (const int64_t at_once : {0, 21}) {
      LmStream stream(with_cache(format));
      const at::Tensor found = streamed_logits(stream, ids, at_once);
      EXPECT_LT(difference(found, expected.slice(0, at_once)), cache_bound(format))
          << options::word_of(format) << ", " << at_once << " at once";
      LmStream halves(with_cache(format, at::kBFloat16));
      EXPECT_LT(difference(streamed_logits(halves, ids, at_once), expected.slice(0, at_once)), 0.15)
          << options::word_of(format) << " in bfloat16";
    }
  }
}

TEST(LmCache, TakesFewerBytes) {
  const at::Tensor ids = random_ids(1, 40);
  std::map<CacheFormat, int64_t> bytes;
  for (const auto format : kCacheFormats) {
    LmStream stream(with_cache(format));
    stream.read(row(ids, 0, 40));
    bytes[format] = state_bytes(stream.state());
  }
  // 2 blocks, k and v, 11 kept tokens, 16 channels in 2 heads.
  const int64_t numbers = 2 * 2 * 11 * 16, scales = 2 * 2 * 11 * 2;
  EXPECT_EQ(bytes[CacheFormat::f32] - bytes[CacheFormat::bf16], 2 * numbers);
  EXPECT_EQ(bytes[CacheFormat::f32] - bytes[CacheFormat::int8], 3 * numbers - 4 * scales);
}

TEST(LmCache, AMemoryOfAnyFormatGoesOnInAnyOther) {
  const TemporaryFolder folder;
  const at::Tensor ids = random_ids(1, 30);
  for (const auto from : kCacheFormats) {
    const auto model = with_cache(from);
    const std::string hash = fingerprint(*model);
    LmStream stream(model);
    stream.read(row(ids, 0, 21));
    save_memory(folder / "text.mem", stream, hash);
    const auto file = io::read_safetensors(folder / "text.mem");
    EXPECT_EQ(file.tensors.at("blocks.0.mixer0.attention.k").scalar_type() == at::kChar,
              from == CacheFormat::int8);
    LmStream same = load_memory(folder / "text.mem", model, hash);
    const at::Tensor rest = ids.slice(1, 21).contiguous();
    const at::Tensor expected = streamed_logits(stream, rest, 0);
    EXPECT_TRUE(streamed_logits(same, rest, 0).equal(expected)) << options::word_of(from);
    for (const auto to : kCacheFormats) {
      LmStream other = load_memory(folder / "text.mem", with_cache(to), hash);
      EXPECT_LT(difference(streamed_logits(other, rest, 0), expected),
                std::max(cache_bound(from), cache_bound(to)))
          << options::word_of(from) << " to " << options::word_of(to);
    }
  }
}

TEST(LmCache, ADamagedMemoryIsASentence) {
  const TemporaryFolder folder;
  const std::string path = folder / "text.mem", key = "blocks.0.mixer0.attention.k";
  const at::Tensor ids = random_ids(1, 30);
  const auto model = with_cache(CacheFormat::int8);
  LmStream stream(model);
  stream.read(row(ids, 0, 21));
  save_memory(path, stream, "x");
  const auto file = io::read_safetensors(path);
  const auto with = [&](auto change) {
    auto changed = file;
    change(changed.tensors);
    io::write_safetensors(path, changed);
  };
  with([&](auto& all) { all.erase(key + "_scales"); });
  EXPECT_SENTENCE(load_memory(path, model, "x"), "attention.k_scales is missing");
  with([&](auto& all) { all[key + "_scales"] = at::ones({1, 2}); });
  EXPECT_SENTENCE(load_memory(path, model, "x"), "has shape [1, 2]");
  with([&](auto& all) { all[key + "_scales"].fill_(NAN); });
  EXPECT_SENTENCE(load_memory(path, model, "x"), "finite numbers");
  with([&](auto& all) { all[key] = at::ones({1, 11, 3, 8}, at::kChar); });
  EXPECT_SENTENCE(load_memory(path, model, "x"), "expected [1, 11, 2, 8]");
}

}  // namespace
}  // namespace lact::models
