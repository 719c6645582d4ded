// Models whose weights are kept in fewer bytes, and states that were branched.
#include <fstream>

#include "lact/base/memory_use.h"
#include "lact/io/tensor_folder.h"
#include "lact/kernels/isa.h"
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
using ops::WeightFormat;

/// Logits [T, vocabulary] of a text read token by token.
at::Tensor token_by_token(const std::shared_ptr<LanguageModel>& model, const at::Tensor& ids) {
  LmStream stream(model);
  std::vector<at::Tensor> logits;
  for (int64_t i = 0; i < ids.size(1); ++i) {
    stream.read(row(ids, i, 1));
    logits.push_back(stream.next_logits());
  }
  return at::stack(logits);
}

/// Muon would turn the smallest change of a gradient into another direction.
LmConfig smooth() {
  auto config = tiny_lm();
  config.layer.memory.update.muon = false;
  return config;
}

/// Relative to the largest logit.
double bound(WeightFormat format) {
  return format == WeightFormat::int8 ? 0.15 : format == WeightFormat::bf16 ? 0.05 : 1e-4;
}

TEST(CompressedLm, SaysNearlyTheSame) {
  for (const bool tied : {false, true}) {
    auto config = smooth();
    config.tie_embeddings = tied;
    at::manual_seed(4);
    const at::Tensor ids = random_ids(1, 35);
    at::NoGradGuard no_grad;
    const at::Tensor expected = make_lm(config)->forward(ids)[0];
    for (const auto format : {WeightFormat::f32, WeightFormat::bf16, WeightFormat::int8}) {
      const auto model = make_lm(config);
      const double error = model->compress_weights(format).relative();
      EXPECT_LT(error, format == WeightFormat::int8 ? 0.01 : format == WeightFormat::bf16 ? 0.002 : 1e-9);
      EXPECT_LT(difference(token_by_token(model, ids), expected), bound(format)) << options::word_of(format);
      EXPECT_LT(difference(model->forward(ids)[0], expected), bound(format)) << options::word_of(format);
    }
  }
}

TEST(CompressedLm, TokenByTokenEqualsTheWholeInBfloatWeights) {
  at::NoGradGuard no_grad;
  const auto model = make_lm(smooth());
  model->compress_weights(WeightFormat::bf16);
  const at::Tensor ids = random_ids(1, 35);
  // Products of many tokens round these to bfloat16 where the processor multiplies pairs of it.
  const double bound = kernels::multiplies_pairs() ? 3e-2 : 1e-4;
  EXPECT_LT(difference(token_by_token(model, ids), model->forward(ids)[0]), bound);
}

TEST(CompressedLm, ComputesInBfloatToo) {
  at::NoGradGuard no_grad;
  const at::Tensor ids = random_ids(1, 30);
  const auto model = make_lm(smooth());
  const at::Tensor expected = model->forward(ids)[0];
  model->set_compute_type(at::kBFloat16);
  model->compress_weights(WeightFormat::int8);
  EXPECT_LT(difference(token_by_token(model, ids), expected), 0.2);
}

/// The same model in a folder, in this type.
void save_in(const std::string& folder, const LanguageModel& model, at::ScalarType type) {
  save_lm(folder, model);
  auto tensors = io::read_tensor_folder(folder);
  for (auto& [name, tensor] : tensors) tensor = tensor.to(type);
  io::write_tensor_folder(folder, tensors);
}

TEST(CompressedLm, IsTheSameWhenItIsCompressedAsItIsRead) {
  at::NoGradGuard no_grad;
  auto config = smooth();
  config.model_dim = 32;  // needs no padding: a bfloat16 weight stays in the file
  const at::Tensor ids = random_ids(1, 30);
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const TemporaryFolder folder;
    save_in(folder / "model", *make_lm(config), type);
    const auto plain = load_lm(folder / "model");
    const std::string hash = fingerprint(*plain);
    for (const auto& item : plain->named_parameters()) EXPECT_EQ(item.value().scalar_type(), at::kFloat);
    for (const auto format : {WeightFormat::f32, WeightFormat::bf16, WeightFormat::int8}) {
      const auto expected = load_lm(folder / "model");
      const double error = format == WeightFormat::f32 ? 0 : expected->compress_weights(format).relative();
      const auto loaded =
          load_lm_for_inference(folder / "model", format, ops::Precision::f32, /*with_fingerprint=*/true);
      EXPECT_EQ(loaded.fingerprint, hash);
      EXPECT_NEAR(loaded.error.relative(), error, 1e-9);
      EXPECT_EQ(loaded.model->is_compressed(), format != WeightFormat::f32);
      EXPECT_TRUE(token_by_token(loaded.model, ids).equal(token_by_token(expected, ids)))
          << options::word_of(format) << " of a file in " << toString(type);
      EXPECT_TRUE(loaded.model->forward(ids).equal(expected->forward(ids)));
      if (type == at::kBFloat16 && format == WeightFormat::bf16) {
        EXPECT_EQ(loaded.error.lost, 0);
      }
    }
  }
}

TEST(CompressedLm, HoldsNoSecondCopyWhileItIsRead) {
  const TemporaryFolder folder;
  auto config = smooth();
  config.vocabulary_size = 4096, config.model_dim = 1024, config.feed_forward.hidden_dim = 2048;
  int64_t file_bytes = 0;
  {
    const auto model = make_lm(config);
    save_lm(folder / "model", *model);
    for (const auto& parameter : model->parameters()) file_bytes += 4 * parameter.numel();
  }
  return_freed_memory();
  const auto grown_by = [&](WeightFormat format) {
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
    const int64_t start = resident_bytes();
    const auto model =
        load_lm_for_inference(folder / "model", format, ops::Precision::f32, /*with_fingerprint=*/true).model;
    return peak_resident_bytes() - start;
  };
  // The file's own pages, or the new weights and the largest one of the file.
  const int64_t largest = 4 * 4096 * 1024, slack = int64_t(8) << 20;
  EXPECT_LT(grown_by(WeightFormat::f32), file_bytes + largest + slack);
  EXPECT_LT(grown_by(WeightFormat::bf16), file_bytes / 2 + largest + slack);
  EXPECT_LT(grown_by(WeightFormat::int8), file_bytes / 4 + largest + slack);
}

TEST(CompressedLm, HoldsNoFloatsOfWhatIsCompressed) {
  const auto model = make_lm(tiny_lm());
  model->compress_weights(WeightFormat::int8);
  EXPECT_TRUE(model->is_compressed());
  for (const auto& item : model->named_parameters()) {
    EXPECT_EQ(item.key().find("projection.qkv.weight"), std::string::npos) << item.key();
    EXPECT_EQ(item.key().find("feed_forward."), std::string::npos) << item.key();
    EXPECT_NE(item.key(), "embeddings");
    EXPECT_NE(item.key(), "head.weight");
  }
  // The layers that decide over the memory stay.
  EXPECT_NE(model->named_parameters().find("block0.mixer0.memory.rate.weight"), nullptr);
  EXPECT_NE(model->named_parameters().find("block0.mixer0.memory.momentum.weight"), nullptr);
}

TEST(CompressedLm, CannotBeTrainedOrSaved) {
  const TemporaryFolder folder;
  const auto model = make_lm(tiny_lm());
  const std::string before = fingerprint(*model);
  EXPECT_EQ(before.size(), 16u);
  model->compress_weights(WeightFormat::bf16);
  EXPECT_SENTENCE(model->forward(random_ids(1, 9)), "cannot be trained");
  EXPECT_SENTENCE(save_lm(folder / "model", *model), "compressed weights cannot be saved");
  EXPECT_SENTENCE(fingerprint(*model), "before its weights are compressed");
  EXPECT_SENTENCE(model->compress_weights(WeightFormat::bf16), "compressed already");
}

TEST(CompressedLm, ContinuesAMemoryOfTheSameModel) {
  const TemporaryFolder folder;
  const auto model = make_lm(smooth());
  const std::string hash = fingerprint(*model);
  const at::Tensor ids = random_ids(1, 21);
  LmStream stream(model);
  stream.read(row(ids, 0, 20));
  save_memory(folder / "text.mem", stream, hash);
  stream.read(row(ids, 20, 1));
  const auto compressed = make_lm(smooth());
  compressed->compress_weights(WeightFormat::bf16);
  LmStream loaded = load_memory(folder / "text.mem", compressed, hash);
  loaded.read(row(ids, 20, 1));
  EXPECT_LT(difference(loaded.next_logits(), stream.next_logits()), bound(WeightFormat::bf16));
}

/// Takes over every field of another state of the same model, without copying memory.
struct Take : StateVisitor {
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, int64_t> numbers;
  bool give = false;
  void tensor(const std::string& name, at::Tensor& value, int64_t) override {
    if (give) value = tensors.at(name);
    tensors[name] = value;
  }
  void number(const std::string& name, int64_t& value) override {
    if (give) value = numbers.at(name);
    numbers[name] = value;
  }
};

TEST(LmBranches, ABranchDoesNotDisturbTheOther) {
  const auto model = make_lm(tiny_lm());
  const at::Tensor text = random_ids(1, 20), left = random_ids(1, 30), right = random_ids(1, 30);
  LmStream stream(model);
  for (int64_t i = 0; i < 20; ++i) stream.read(row(text, i, 1));
  Take take;
  stream.state().visit(take, "");
  take.give = true;
  at::NoGradGuard no_grad;
  auto state = model->initial_state(1);
  state->visit(take, "");
  take.tensors.clear();
  LmStream branch(model, std::move(state), stream.last_hidden());
  for (int64_t i = 0; i < 30; ++i) {
    stream.read(row(left, i, 1));
    branch.read(row(right, i, 1));
  }
  const auto alone = [&](const at::Tensor& rest) {
    LmStream whole(model);
    for (int64_t i = 0; i < 20; ++i) whole.read(row(text, i, 1));
    for (int64_t i = 0; i < 30; ++i) whole.read(row(rest, i, 1));
    return whole.next_logits();
  };
  EXPECT_TRUE(stream.next_logits().equal(alone(left)));
  EXPECT_TRUE(branch.next_logits().equal(alone(right)));
}

TEST(LmBranches, KeysAndValuesAreKeptInTheComputeType) {
  const auto model = make_lm(tiny_lm());
  model->set_compute_type(at::kBFloat16);
  LmStream stream(model);
  const at::Tensor ids = random_ids(1, 20);
  for (int64_t i = 0; i < 20; ++i) stream.read(row(ids, i, 1));
  Take take;
  stream.state().visit(take, "");
  EXPECT_EQ(take.tensors.at("blocks.0.mixer0.attention.k").scalar_type(), at::kBFloat16);
  EXPECT_EQ(take.tensors.at("blocks.0.mixer0.attention.v").scalar_type(), at::kBFloat16);
}

}  // namespace
}  // namespace lact::models
