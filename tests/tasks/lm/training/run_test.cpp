#include "lact/tasks/lm/training/run.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "lact/base/memory_use.h"
#include "lact/models/lm/loss.h"
#include "lact/models/lm/presets.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::tasks::lm {
namespace {

using lact::testing::TemporaryFolder;
using lact::testing::write_file;

/// Ten documents of one letter each, eight bytes and an end, in two files; every letter comes three times.
class LmSourcesOfDocuments : public ::testing::Test {
 protected:
  LmSourcesOfDocuments() {
    std::string lines;
    for (int i = 0; i < 30; ++i)
      lines += "{\"body\": \"" + std::string(8, char('a' + i % 10)) + "\", \"text\": 1}\n";
    const size_t half = lines.find('\n', lines.size() / 2) + 1;
    write_file(folder_ / "one.jsonl", lines.substr(0, half));
    write_file(folder_ / "two.jsonl", lines.substr(half));
    options_.data = {folder_ / "one.jsonl", folder_ / "two.jsonl"};
    options_.cache = folder_ / "cache";
    options_.valid_share = 0.2;
    options_.format.text_field = "body";
  }

  static std::set<int64_t> letters(const data::TokenSource& source, int64_t length) {
    std::set<int64_t> found;
    std::vector<int64_t> tokens(static_cast<size_t>(length));
    for (int64_t i = 0; i < 3 * source.num_sequences(length); ++i) {
      source.sequence(i, length, tokens.data());
      found.insert(tokens.begin(), tokens.end());
    }
    found.erase(0);
    return found;
  }

  TemporaryFolder folder_;
  DataOptions options_;
};

TEST_F(LmSourcesOfDocuments, WhatIsValidatedOnIsNeverTrainedOn) {
  for (int64_t seed = 1; seed <= 5; ++seed) {
    const Sources sources = open_sources(options_, seed);
    ASSERT_NE(sources.valid, nullptr);
    const auto trained = letters(*sources.train, 9), kept = letters(*sources.valid, 9);
    EXPECT_EQ(trained.size(), 8u);
    EXPECT_EQ(kept.size(), 2u) << "two of ten texts, each three times";
    EXPECT_EQ(sources.valid->num_sequences(9), 6);
    for (const int64_t letter : kept) EXPECT_FALSE(trained.contains(letter));
  }
}

TEST_F(LmSourcesOfDocuments, EndsMayBeLeftOut) {
  options_.valid_share = 0;
  EXPECT_EQ(open_sources(options_, 1).train->num_sequences(1), 30 * 9);
  options_.format.end_of_text = false;
  EXPECT_EQ(open_sources(options_, 1).train->num_sequences(1), 30 * 8);
  options_.format.text_field = "text";
  EXPECT_SENTENCE(open_sources(options_, 1), "one.jsonl: line 1: the field \"text\" is a number");
}

TEST_F(LmSourcesOfDocuments, PackedDocumentsHaveTheLossOfDocumentsApart) {
  options_.valid_share = 0;
  const Sources sources = open_sources(options_, 1);
  models::LmConfig config = models::lm_tiny();
  config.vocabulary_size = sources.tokenizer->vocabulary_size();
  config.num_layers = 2;
  config.chunk_size = 4, config.window_size = 4;
  at::manual_seed(1);
  const auto model = std::make_shared<models::LanguageModel>(config);
  Batches batches = {.batch = 3, .length = 31, .valid_sequences = 1, .pack_documents = true};
  TrainingTask task(model, sources, batches);
  at::NoGradGuard no_grad;
  const double found = task.loss(2).item<double>();

  double sum = 0;
  int64_t count = 0;
  for (int64_t row = 6; row < 9; ++row) {
    std::vector<int64_t> tokens(32);
    sources.train->sequence(row, 32, tokens.data());
    // Every document ends with a zero.
    std::vector<std::vector<int64_t>> documents(1);
    for (const int64_t token : tokens) {
      documents.back().push_back(token);
      if (token == 0) documents.emplace_back();
    }
    for (const auto& document : documents) {
      const auto length = int64_t(document.size()) - 1;
      if (length < 1) continue;
      const at::Tensor ids = at::tensor(document, at::kLong).unsqueeze(0);
      sum +=
          models::next_token_losses(*model, model->hidden(ids.narrow(1, 0, length)), ids.narrow(1, 1, length))
              .sum()
              .item<double>();
      count += length;
    }
  }
  EXPECT_NEAR(found, sum / double(count), 1e-4);

  batches.pack_documents = false;
  TrainingTask across(model, sources, batches);
  EXPECT_GT(std::abs(across.loss(2).item<double>() - found), 1e-3);
}

TEST(LmTrainingTask, LossOfAnswersIsTheirMean) {
  for (const BuiltInText text : {BuiltInText::recall, BuiltInText::ruler}) {
    for (const bool pack : {false, true}) {
      if (pack && text == BuiltInText::recall) continue;
      DataOptions options;
      options.text = text;
      options.ruler = {.ruler_tasks = {"S-NIAH-1"}, .shortest = 500};
      const Sources sources = open_sources(options, 1);
      models::LmConfig config = models::lm_tiny();
      config.vocabulary_size = sources.tokenizer->vocabulary_size();
      config.num_layers = 1;
      config.model_dim = 48, config.feed_forward.hidden_dim = 48, config.layer.attention.num_heads = 2;
      config.chunk_size = 32, config.window_size = 32;
      at::manual_seed(1);
      const auto model = std::make_shared<models::LanguageModel>(config);
      const int64_t length = text == BuiltInText::recall ? 200 : 1100;
      Batches batches = {.batch = 2, .length = length, .valid_sequences = 1};
      batches.answers_only = true;
      batches.pack_documents = pack;
      at::NoGradGuard no_grad;
      double sum = 0;
      int64_t count = 0;
      for (int64_t row = 2; row < 4; ++row) {
        const at::Tensor ids = at::empty({1, length + 1}, at::kLong);
        sources.train->sequence(row, length + 1, ids.data_ptr<int64_t>());
        std::vector<int64_t> begins = {0};
        if (pack)
          for (const int64_t begin : sources.train->document_begins(row, length + 1)) begins.push_back(begin);
        begins.push_back(length + 1);
        for (size_t i = 0; i + 1 < begins.size(); ++i) {
          const int64_t from = begins[i], inputs = begins[i + 1] - from - 1;
          if (inputs < 1) continue;
          const at::Tensor losses = models::next_token_losses(
              *model, model->hidden(ids.narrow(1, from, inputs)), ids.narrow(1, from + 1, inputs));
          for (const auto [begin, end] : sources.train->answers(row, length + 1)) {
            for (int64_t place = begin; place < end; ++place) {
              if (place <= from || place > from + inputs) continue;
              sum += losses[0][place - 1 - from].item<double>();
              ++count;
            }
          }
        }
      }
      ASSERT_GT(count, 10);
      TrainingTask task(model, sources, batches);
      EXPECT_NEAR(task.loss(1).item<double>(), sum / double(count), 1e-4) << pack;
      batches.answers_only = false;
      EXPECT_GT(std::abs(TrainingTask(model, sources, batches).loss(1).item<double>() - sum / double(count)),
                1e-4);
    }
  }
}

TEST(LmRun, AnswersOnlyNeedsATextWhoseQuestionsAreKnown) {
  lm::Run run;
  run.model = models::lm_tiny();
  run.batches.answers_only = true;
  run.check();
  run.data.text = lm::BuiltInText::tales;
  EXPECT_SENTENCE(run.check(), "--answers-only needs --text recall or ruler");
  run.data.text = lm::BuiltInText::ruler;
  run.check();
  run.data.data = {"books"};
  EXPECT_SENTENCE(run.check(), "--answers-only needs --text recall or ruler");
}

TEST(LmRun, PackingNeedsDocuments) {
  lm::Run run;
  run.model = models::lm_tiny();
  run.batches.pack_documents = true;
  EXPECT_SENTENCE(run.check(), "--pack-documents needs --data or --text ruler");
  run.data.text = BuiltInText::ruler;
  run.check();
}

TEST(LmDataOptions, ThoseOfAnEarlierRunHaveNoFormat) {
  DataOptions options;
  auto json = options::write(options);
  json.erase("format");
  options.format.text_field = "body";
  DataOptions read;
  options::read(json, read);
  EXPECT_EQ(read, DataOptions());
}

TEST(LmRun, AModelThatCannotBeTrainedHereIsRefusedBeforeItIsMade) {
  tasks::lm::Run run;
  run.data.tokenizer = "missing.model";
  // Its weights alone would fit.
  run.model.vocabulary_size = machine_memory_bytes() / 16 / run.model.model_dim;
  EXPECT_SENTENCE(run.make_task("", ""),
                  "not enough memory for weights, gradients and moments of a model of ");
}

}  // namespace
}  // namespace lact::tasks::lm
