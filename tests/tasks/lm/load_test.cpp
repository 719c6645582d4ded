#include "lact/tasks/lm/load.h"

#include "lact/io/tensor_folder.h"
#include "lact/kernels/isa.h"
#include "lact/models/common/state_file.h"
#include "lact/models/lm/folder.h"
#include "lact/models/lm/stream.h"
#include "lact/ops/dispatch/paths.h"
#include "support/errors.h"
#include "support/temporary_folder.h"
#include "support/tiny_lm.h"

namespace lact::tasks::lm {
namespace {

using lact::testing::make_lm;
using lact::testing::random_ids;
using lact::testing::row;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_lm;

TEST(LoadLm, AFolderWithoutAVocabularyReadsBytes) {
  const TemporaryFolder folder;
  const auto model = make_lm(tiny_lm());
  models::save_lm(folder / "model", *model);
  const Loaded lm = load(folder / "model", {.precision = ops::Precision::f32}, /*with_fingerprint=*/true);
  EXPECT_EQ(lm.tokenizer->vocabulary_size(), 256);
  EXPECT_EQ(lm.tokenizer->encode("ab"), (std::vector<int32_t>{'a', 'b'}));
  EXPECT_EQ(lm.fingerprint, models::fingerprint(*model));
  EXPECT_EQ(lm.weight_error, 0);
  EXPECT_FALSE(lm.model->is_training());
  at::NoGradGuard no_grad;
  const at::Tensor ids = random_ids(1, 20);
  EXPECT_TRUE(lm.model->forward(ids).equal(model->forward(ids)));
}

TEST(LoadLm, PrecisionAndWeightsAreTheOptions) {
  const TemporaryFolder folder;
  models::save_lm(folder / "model", *make_lm(tiny_lm()));
  at::NoGradGuard no_grad;
  const at::Tensor ids = random_ids(1, 20);
  const Loaded plain = load(folder / "model", {.precision = ops::Precision::f32}, /*with_fingerprint=*/false);
  EXPECT_EQ(plain.weights, ops::WeightFormat::f32);
  EXPECT_EQ(plain.fingerprint, "");
  const Loaded halved = load(folder / "model", {.precision = ops::Precision::bf16});
  EXPECT_FALSE(halved.model->forward(ids).equal(plain.model->forward(ids)));
  // The fingerprint is that of the weights as they were saved.
  const Loaded small = load(folder / "model", {.weights = ops::WeightFormat::int8});
  EXPECT_TRUE(small.model->is_compressed());
  EXPECT_GT(small.weight_error, 0);
  EXPECT_EQ(small.fingerprint, models::fingerprint(*plain.model));
}

TEST(LoadLm, AutomaticIsWhatTheProcessorMultipliesFaster) {
  const TemporaryFolder folder;
  models::save_lm(folder / "model", *make_lm(tiny_lm()));
  at::NoGradGuard no_grad;
  const at::Tensor ids = random_ids(1, 20);
  const auto with = [&](const LoadOptions& options) { return load(folder / "model", options); };
  for (const bool pairs : {false, true}) {
    kernels::set_multiplies_pairs(pairs);
    const bool fast = kernels::multiplies_pairs();
    const Loaded chosen = with({});
    const Loaded named = with({.precision = fast ? ops::Precision::bf16 : ops::Precision::f32});
    EXPECT_TRUE(chosen.model->forward(ids).equal(named.model->forward(ids)));
    EXPECT_EQ(chosen.weights, fast ? ops::WeightFormat::bf16 : ops::WeightFormat::f32);
    EXPECT_EQ(with({.precision = ops::Precision::bf16}).weights, ops::WeightFormat::bf16);
  }
  kernels::set_multiplies_pairs(false);
  ops::set_fused_paths(false);
  EXPECT_EQ(with({}).weights, ops::WeightFormat::f32);
  ops::set_fused_paths(true);
}

TEST(LoadLm, AFileInBfloatStaysSo) {
  const TemporaryFolder folder;
  models::save_lm(folder / "model", *make_lm(tiny_lm()));
  auto tensors = io::read_tensor_folder(folder / "model");
  for (auto& [name, tensor] : tensors) tensor = tensor.to(at::kBFloat16);
  io::write_tensor_folder(folder / "model", tensors);
  const Loaded lm = load(folder / "model", {.precision = ops::Precision::f32});
  EXPECT_EQ(lm.weights, ops::WeightFormat::bf16);
  EXPECT_EQ(lm.weight_error, 0);
  EXPECT_FALSE(load(folder / "model", {.weights = ops::WeightFormat::f32}).model->is_compressed());
}

TEST(LoadLm, TheCacheIsAnOption) {
  const TemporaryFolder folder;
  models::save_lm(folder / "model", *make_lm(tiny_lm()));
  const auto kept_type = [&](const LoadOptions& options) {
    models::LmStream stream(load(folder / "model", options).model);
    const at::Tensor ids = random_ids(1, 20);
    stream.read(row(ids, 0, 20));
    return models::tensors_of(stream.state()).at("blocks.0.mixer0.attention.k").scalar_type();
  };
  using ops::CacheFormat;
  EXPECT_EQ(kept_type({.precision = ops::Precision::f32}), at::kFloat);
  EXPECT_EQ(kept_type({.precision = ops::Precision::bf16}), at::kBFloat16);
  EXPECT_EQ(kept_type({.precision = ops::Precision::f32, .cache = CacheFormat::bf16}), at::kBFloat16);
  EXPECT_EQ(kept_type({.precision = ops::Precision::bf16, .cache = CacheFormat::f32}), at::kFloat);
  EXPECT_EQ(kept_type({.precision = ops::Precision::f32, .cache = CacheFormat::int8}), at::kChar);
  EXPECT_EQ(kept_type({.weights = ops::WeightFormat::int8}), at::kChar);
}

TEST(LoadLm, MistakesAreSentences) {
  const TemporaryFolder folder;
  auto config = tiny_lm();
  config.vocabulary_size = 100;
  models::save_lm(folder / "model", *make_lm(config));
  EXPECT_SENTENCE(load(folder / "model"), "has 256 tokens but the model's vocabulary is 100");
  EXPECT_SENTENCE(load(folder / "nothing"), "is not a model folder");
}

}  // namespace
}  // namespace lact::tasks::lm
