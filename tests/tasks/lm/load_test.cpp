#include "lact/tasks/lm/load.h"

#include "lact/models/lm/folder.h"
#include "support/errors.h"
#include "support/temporary_folder.h"
#include "support/tiny_lm.h"

namespace lact::tasks::lm {
namespace {

using lact::testing::make_lm;
using lact::testing::random_ids;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_lm;

TEST(LoadLm, AFolderWithoutAVocabularyReadsBytes) {
  const TemporaryFolder folder;
  const auto model = make_lm(tiny_lm());
  models::save_lm(folder / "model", *model);
  const Loaded lm = load(folder / "model", {}, /*with_fingerprint=*/true);
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
  const Loaded plain = load(folder / "model");
  EXPECT_EQ(plain.fingerprint, "");
  const Loaded halved = load(folder / "model", {.precision = ops::Precision::bf16});
  EXPECT_FALSE(halved.model->forward(ids).equal(plain.model->forward(ids)));
  // The fingerprint is that of the weights as they were saved.
  const Loaded small = load(folder / "model", {.weights = ops::WeightFormat::int8}, true);
  EXPECT_TRUE(small.model->is_compressed());
  EXPECT_GT(small.weight_error, 0);
  EXPECT_EQ(small.fingerprint, models::fingerprint(*plain.model));
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
