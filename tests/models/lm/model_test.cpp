#include "lact/models/lm/model.h"

#include <torch/autograd.h>

#include "lact/models/lm/loss.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/tiny_lm.h"
#include "support/watched_memory.h"

namespace lact::models {
namespace {

using lact::testing::difference;
using lact::testing::make_lm;
using lact::testing::make_precise_lm;
using lact::testing::random_ids;
using lact::testing::tiny_lm;
using lact::testing::tiny_lms;

/// The loss, and the gradient of every parameter.
std::pair<double, std::vector<at::Tensor>> loss_and_gradients(LanguageModel& model, const at::Tensor& ids) {
  model.zero_grad();
  const int64_t length = ids.size(1) - 1;
  const at::Tensor loss =
      next_token_losses(model, model.hidden(ids.narrow(1, 0, length)), ids.narrow(1, 1, length)).mean();
  loss.backward();
  std::vector<at::Tensor> gradients;
  for (const auto& parameter : model.parameters()) gradients.push_back(parameter.grad().clone());
  return {loss.item<double>(), gradients};
}

TEST(LanguageModelTest, NoTokenSeesTheFuture) {
  at::NoGradGuard no_grad;
  for (const auto& [name, config] : tiny_lms()) {
    const auto model = make_precise_lm(config);
    const at::Tensor ids = random_ids(1, 30);
    const at::Tensor before = model->forward(ids);
    at::Tensor changed = ids.clone();
    changed[0][17] = (ids[0][17].item<int64_t>() + 1) % 256;
    const at::Tensor after = model->forward(changed);
    EXPECT_EQ(difference(after.narrow(1, 0, 17), before.narrow(1, 0, 17)), 0) << name;
    EXPECT_GT(difference(after.narrow(1, 17, 1), before.narrow(1, 17, 1)), 1e-6) << name;
  }
}

TEST(LanguageModelTest, MemoryReachesBeyondTheWindowAndAWindowAloneDoesNot) {
  at::NoGradGuard no_grad;
  const auto reaches = [](const LmConfig& config) {
    const auto model = make_precise_lm(config);
    const at::Tensor ids = random_ids(1, 40);
    at::Tensor changed = ids.clone();
    changed[0][0] = (ids[0][0].item<int64_t>() + 1) % 256;
    return difference(model->forward(changed)[0][39], model->forward(ids)[0][39]) > 1e-9;
  };
  auto config = tiny_lm(8, 5);
  EXPECT_TRUE(reaches(config));
  config.mixer = MixerKind::window;
  EXPECT_FALSE(reaches(config));
}

TEST(LanguageModelTest, RecomputingChangesNothing) {
  for (const auto& [name, config] : tiny_lms()) {
    const auto model = make_precise_lm(config);
    const at::Tensor ids = random_ids(2, 29);
    const auto [loss, gradients] = loss_and_gradients(*model, ids);
    for (const auto what : {nn::Recompute::blocks, nn::Recompute::memory, nn::Recompute::cheap}) {
      SCOPED_TRACE(name + std::string(", ") + std::string(options::word_of(what)));
      model->set_recompute(what);
      const auto [again, recomputed] = loss_and_gradients(*model, ids);
      EXPECT_DOUBLE_EQ(loss, again);
      for (size_t i = 0; i < gradients.size(); ++i) EXPECT_LT(difference(recomputed[i], gradients[i]), 1e-12);
    }
  }
}

TEST(LanguageModelTest, RecomputingMoreKeepsLess) {
  auto config = tiny_lm(128, 40);
  config.layer.memory.update.muon = false;  // its iterates are kept in any case
  config.model_dim = 64;
  config.feed_forward.hidden_dim = 192;
  const auto model = make_lm(config);
  const at::Tensor ids = random_ids(1, 400);
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    model->set_compute_type(type);
    const auto kept_bytes = [&](nn::Recompute what) {
      model->set_recompute(what);
      const lact::testing::WatchedMemory memory;
      const at::Tensor hidden = model->hidden(ids);
      return double(memory.live_bytes());
    };
    model->set_recompute(nn::Recompute::none);
    const auto [loss, gradients] = loss_and_gradients(*model, ids);
    for (const auto what : {nn::Recompute::cheap, nn::Recompute::memory}) {
      model->set_recompute(what);
      const auto [again, recomputed] = loss_and_gradients(*model, ids);
      EXPECT_EQ(loss, again);
      // Strides of a gradient, and with them the order of a sum, may differ; a hidden layer that is kept in
      // bfloat16 is rounded, one that is computed again is not.
      const bool rounded = what == nn::Recompute::memory && type == at::kBFloat16;
      for (size_t i = 0; i < gradients.size(); ++i)
        EXPECT_LT(difference(recomputed[i], gradients[i]), rounded ? 0.02 : 2e-6) << i;
    }
    const double none = kept_bytes(nn::Recompute::none), cheap = kept_bytes(nn::Recompute::cheap),
                 memory = kept_bytes(nn::Recompute::memory), blocks = kept_bytes(nn::Recompute::blocks);
    EXPECT_LT(cheap, 0.7 * none);
    EXPECT_LT(memory, 0.85 * cheap);
    EXPECT_LT(blocks, 0.5 * memory);
  }
}

TEST(LanguageModelTest, BfloatComputesCloseToFloat) {
  for (const auto& [name, config] : tiny_lms()) {
    const auto model = make_lm(config);
    const at::Tensor ids = random_ids(2, 33);
    const auto [loss, gradients] = loss_and_gradients(*model, ids);
    model->set_compute_type(at::kBFloat16);
    const auto [rounded, rounded_gradients] = loss_and_gradients(*model, ids);
    EXPECT_NEAR(rounded, loss, 0.05 * loss) << name;
    for (const auto& parameter : model->parameters()) EXPECT_EQ(parameter.scalar_type(), at::kFloat);
    for (const auto& gradient : rounded_gradients)
      EXPECT_TRUE(at::isfinite(gradient).all().item<bool>()) << name;
    // Fast weights stay float32 between chunks.
    at::NoGradGuard no_grad;
    const auto state = model->initial_state(1);
    model->advance(random_ids(1, 20), *state);
    struct Types : StateVisitor {
      void tensor(const std::string& field, at::Tensor& value, int64_t) override {
        if (field.find("weights") != std::string::npos || field.find("momentum") != std::string::npos) {
          EXPECT_EQ(value.scalar_type(), at::kFloat) << field;
        }
      }
      void number(const std::string&, int64_t&) override {}
    } types;
    state->visit(types, "");
  }
}

TEST(LanguageModelTest, HasTheParametersThatItsCostSays) {
  for (const auto& [name, config] : tiny_lms()) {
    int64_t elements = 0;
    for (const auto& parameter : make_lm(config)->parameters()) elements += parameter.numel();
    EXPECT_EQ(elements, cost(config).total().parameters) << name;
  }
}

TEST(LanguageModelTest, TiedEmbeddingsAreOneMatrix) {
  auto config = tiny_lm();
  const auto untied = make_lm(config);
  config.tie_embeddings = true;
  const auto tied = make_lm(config);
  const auto count = [](const LanguageModel& model) {
    int64_t elements = 0;
    for (const auto& parameter : model.parameters()) elements += parameter.numel();
    return elements;
  };
  EXPECT_EQ(count(*untied) - count(*tied), 256 * 16);
  EXPECT_EQ(count(*tied), cost(config).total().parameters);
  EXPECT_EQ(tied->forward(random_ids(1, 9)).sizes(), at::IntArrayRef({1, 9, 256}));
}

TEST(LanguageModelTest, LossesInStretchesEqualTheLossAtOnce) {
  auto config = tiny_lm();
  config.vocabulary_size = 40000;  // more logits than one stretch holds
  const auto model = make_precise_lm(config);
  const at::Tensor ids = random_ids(2, 301, 40000);
  const at::Tensor hidden = model->hidden(ids.narrow(1, 0, 300)), targets = ids.narrow(1, 1, 300);
  const at::Tensor at_once =
      at::cross_entropy_loss(model->logits(hidden).flatten(0, 1), targets.flatten(), {}, 0);
  EXPECT_LT(difference(next_token_losses(*model, hidden, targets).flatten(), at_once), 1e-12);
}

TEST(LanguageModelTest, TokensOutsideOfTheVocabularyAreASentence) {
  const auto model = make_lm(tiny_lm());
  EXPECT_SENTENCE(model->forward(at::full({1, 3}, 256, at::kLong)), "token 256 is outside");
  EXPECT_SENTENCE(model->forward(at::full({1, 3}, -1, at::kLong)), "token -1 is outside");
  EXPECT_SENTENCE(model->forward(at::zeros({1, 0}, at::kLong)), "at least one token");
  EXPECT_SENTENCE(model->forward(at::zeros({3}, at::kLong)), "expected [B, T]");
}

}  // namespace
}  // namespace lact::models
