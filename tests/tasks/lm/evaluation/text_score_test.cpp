#include "lact/tasks/lm/evaluation/text_score.h"

#include "lact/data/text/token_cache.h"
#include "lact/ops/losses/losses.h"
#include "lact/tasks/lm/evaluation/position_loss.h"
#include "lact/tasks/lm/evaluation/recall.h"
#include "support/errors.h"
#include "support/temporary_folder.h"
#include "support/tiny_lm.h"

namespace lact::tasks::lm {
namespace {

using lact::testing::make_lm;
using lact::testing::make_precise_lm;
using lact::testing::random_ids;
using lact::testing::tiny_lm;

TEST(TextScore, PiecesGiveTheLossOfTheWhole) {
  at::NoGradGuard no_grad;
  const auto model = make_precise_lm(tiny_lm());
  const at::Tensor ids = random_ids(1, 37);
  const double expected = ops::next_token_loss(model->forward(ids), ids).sum().item<double>();
  for (const int64_t piece : {1, 5, 8, 37}) {
    models::LmStream stream(model);
    TextScorer scorer(stream);
    std::vector<double> losses(37, 0);
    for (int64_t begin = 0; begin < 37; begin += piece) {
      const int64_t count = std::min<int64_t>(piece, 37 - begin);
      scorer.read({ids.data_ptr<int64_t>() + begin, size_t(count)},
                  [&](const at::Tensor& part, int64_t first) {
                    for (int64_t i = 0; i < part.size(0); ++i)
                      losses[size_t(first + i)] = part[i].item<double>();
                  });
    }
    EXPECT_EQ(scorer.scored(), 36);
    EXPECT_NEAR(scorer.total(), expected, 1e-9);
    EXPECT_EQ(losses[0], 0);
    for (size_t i = 1; i < 37; ++i) EXPECT_GT(losses[i], 0);
  }
}

TEST(TextScore, PositionLossAveragesBuckets) {
  at::NoGradGuard no_grad;
  const lact::testing::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 300; ++i) text += char('a' + i * i % 26);
  lact::testing::write_file(folder / "a.txt", text);
  const auto tokenizer = data::byte_tokenizer();
  const auto tokens = data::open_corpus(*tokenizer, {{folder / "a.txt"}, folder / "cache", {}});
  const auto model = make_lm(tiny_lm());
  const auto result = position_loss("m", model, *tokens, {.length = 100, .sequences = 8, .bucket = 30});
  EXPECT_EQ(result.sequences, 3);
  EXPECT_EQ(result.end, (std::vector<int64_t>{30, 60, 90, 100}));
  at::Tensor expected = at::zeros({99});  // of positions 1 to 99
  for (int64_t i = 0; i < 3; ++i) {
    at::Tensor ids = at::empty({1, 100}, at::kLong);
    tokens->copy(i * 100, 100, ids.data_ptr<int64_t>());
    expected += ops::next_token_loss(model->forward(ids), ids)[0] / 3;
  }
  EXPECT_NEAR(result.mean, expected.mean().item<double>(), 1e-4);
  // Position 0 has no loss: the first bucket is the mean of the 29 others.
  EXPECT_NEAR(result.loss[0], expected.slice(0, 0, 29).mean().item<double>(), 1e-4);
  EXPECT_NEAR(result.loss[1], expected.slice(0, 29, 59).mean().item<double>(), 1e-4);
  EXPECT_NEAR(result.loss[3], expected.slice(0, 89).mean().item<double>(), 1e-4);
  EXPECT_SENTENCE(position_loss("m", model, *tokens, {.length = 1000}), "fewer than one sequence of 1000");
}

// Blocks 2 to 7 of ten can be read behind none, one and two others.
TEST(TextScore, EveryPositionShowsTheSameText) {
  at::NoGradGuard no_grad;
  const lact::testing::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 307; ++i) text += char('a' + i * i % 26);
  lact::testing::write_file(folder / "a.txt", text);
  lact::testing::write_file(folder / "b.txt", text.substr(0, 100));  // too short for all positions
  const auto tokens = data::open_corpus(*data::byte_tokenizer(),
                                        {{folder / "a.txt", folder / "b.txt"}, folder / "cache", {}});
  const auto model = make_lm(tiny_lm());
  const PositionLossOptions options = {.length = 90, .sequences = 9, .bucket = 30, .same_text = true};
  const auto result = position_loss("m", model, *tokens, options);
  EXPECT_EQ(result.sequences, 8);
  EXPECT_EQ(result.end, (std::vector<int64_t>{30, 60, 90}));
  for (int64_t before = 0; before < 3; ++before) {
    double expected = 0;
    for (int64_t block = 2; block < 8; ++block) {
      at::Tensor ids = at::empty({1, (before + 1) * 30}, at::kLong);
      tokens->copy((block - before) * 30, ids.size(1), ids.data_ptr<int64_t>());
      const at::Tensor losses = ops::next_token_loss(model->forward(ids), ids)[0];
      expected += losses.slice(0, std::max<int64_t>(0, before * 30 - 1)).mean().item<double>() / 6;
    }
    EXPECT_NEAR(result.loss[size_t(before)], expected, 1e-4) << before;
  }
  auto other = options;
  other.bucket = 40;
  EXPECT_SENTENCE(position_loss("m", model, *tokens, other),
                  "sequences of 90 tokens are no whole buckets of 40");
  other = options;
  other.sequences = 2;
  EXPECT_SENTENCE(position_loss("m", model, *tokens, other), "expected at least 3 of 90 tokens");
}

/// Answers every token with the token itself.
std::shared_ptr<models::LanguageModel> echoing_lm() {
  auto config = tiny_lm();
  config.tie_embeddings = true;
  const auto model = make_lm(config);
  at::NoGradGuard no_grad;
  for (auto& item : model->named_parameters()) {
    const std::string& name = item.key();
    at::Tensor value = item.value();
    if (name.ends_with("output.weight") || name.ends_with("down.weight")) value.zero_();
    // Rows of one length: each is nearest to itself.
    if (name == "embeddings") value.copy_(value / value.norm(2, {1}, true));
  }
  return model;
}

// An answer is what the model says before it has read it.
TEST(TextScore, AnEchoRecallsNothing) {
  const auto model = echoing_lm();
  {
    at::NoGradGuard no_grad;
    const at::Tensor ids = random_ids(1, 30);
    ASSERT_TRUE(model->forward(ids).argmax(-1).equal(ids));
  }
  const auto tokenizer = data::byte_tokenizer();
  const auto all = recall("m", *model, *tokenizer, {}, {.length = 400, .documents = 4}).beyond(0);
  EXPECT_GT(all.asked, 50);
  EXPECT_LT(all.accuracy(), 0.2);
}

TEST(TextScore, FewSequencesComeFromAllOfTheText) {
  const lact::testing::TemporaryFolder folder;
  // The second half is one letter again and again.
  std::string text;
  for (int i = 0; i < 400; ++i) text += char('a' + i * i % 26);
  text += std::string(400, 'z');
  lact::testing::write_file(folder / "a.txt", text);
  const auto tokens = data::open_corpus(*data::byte_tokenizer(), {{folder / "a.txt"}, folder / "cache", {}});
  const auto model = make_lm(tiny_lm());
  const auto mean_of = [&](int64_t place) {
    at::NoGradGuard no_grad;
    at::Tensor ids = at::empty({1, 100}, at::kLong);
    tokens->copy(place, 100, ids.data_ptr<int64_t>());
    return ops::next_token_loss(model->forward(ids), ids).mean().item<double>();
  };
  const auto result = position_loss("m", model, *tokens, {.length = 100, .sequences = 2});
  EXPECT_EQ(result.sequences, 2);
  EXPECT_NEAR(result.mean, (mean_of(0) + mean_of(400)) / 2, 1e-4);
}

TEST(TextScore, AnUntrainedModelRecallsByChance) {
  const auto tokenizer = data::byte_tokenizer();
  const auto model = make_lm(tiny_lm());
  const auto result = recall("m", *model, *tokenizer, {}, {.length = 400, .documents = 4});
  const auto all = result.beyond(0);
  EXPECT_GT(all.asked, 50);
  EXPECT_LT(all.accuracy(), 0.1);
  for (const auto& bucket : result.buckets) EXPECT_GE(bucket.asked, 20);
}

}  // namespace
}  // namespace lact::tasks::lm
