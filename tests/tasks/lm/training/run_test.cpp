#include "lact/tasks/lm/training/run.h"

#include <gtest/gtest.h>

#include <set>

#include "lact/base/memory_use.h"
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
