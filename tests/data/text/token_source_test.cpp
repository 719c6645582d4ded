#include "lact/data/text/token_source.h"

#include <set>

#include "lact/data/text/token_cache.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::data {
namespace {

class TokenSourceTest : public ::testing::Test {
 protected:
  TokenSourceTest() {
    std::string text;
    for (int i = 0; i < 999; ++i) text += char('a' + i % 26);
    lact::testing::write_file(folder_ / "a.txt", text);
    tokens_ = open_corpus(*byte_tokenizer(), {{folder_ / "a.txt"}, folder_ / "cache", {}});
  }
  std::vector<int64_t> sequence(const TokenSource& source, int64_t index, int64_t length = 10) const {
    std::vector<int64_t> out(static_cast<size_t>(length));
    source.sequence(index, length, out.data());
    return out;
  }
  lact::testing::TemporaryFolder folder_;
  std::shared_ptr<TokenArray> tokens_;
};

TEST_F(TokenSourceTest, AnEpochShowsEverySequenceOnce) {
  const auto source = shuffled_sequences(tokens_, {{0, tokens_->size()}}, 5);
  const int64_t count = source->num_sequences(13);
  EXPECT_EQ(count, 76);
  std::set<std::vector<int64_t>> seen;
  int64_t total = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto one = sequence(*source, i, 13);
    for (const int64_t token : one) total += token == 'a';
    seen.insert(one);
  }
  // 999 letters in turn: 13 is half of 26, so there are few different sequences, but all letters come up
  // evenly.
  EXPECT_NEAR(double(total), 76 * 13 / 26.0, 1);
}

TEST_F(TokenSourceTest, TheOrderDependsOnSeedAndEpoch) {
  const auto one = shuffled_sequences(tokens_, {{0, 1000}}, 5),
             same = shuffled_sequences(tokens_, {{0, 1000}}, 5),
             other = shuffled_sequences(tokens_, {{0, 1000}}, 6);
  int64_t equal = 0, next_epoch = 0;
  const int64_t count = one->num_sequences(9);
  for (int64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(sequence(*one, i, 9), sequence(*same, i, 9));
    equal += sequence(*one, i, 9) == sequence(*other, i, 9);
    next_epoch += sequence(*one, i, 9) == sequence(*one, i + count, 9);
  }
  EXPECT_LT(equal, 15);
  EXPECT_LT(next_epoch, 15);
}

TEST_F(TokenSourceTest, NoTokenIsLeftOutOfEveryEpoch) {
  // 100 tokens are one sequence of 60: where it begins is drawn anew for each epoch.
  const auto source = shuffled_sequences(tokens_, {{0, 100}}, 5);
  ASSERT_EQ(source->num_sequences(60), 1);
  std::set<std::vector<int64_t>> begins;
  for (int64_t epoch = 0; epoch < 200; ++epoch) begins.insert(sequence(*source, epoch, 60));
  EXPECT_GT(begins.size(), 15u);  // of 26: the text repeats then
}

TEST_F(TokenSourceTest, ConsecutiveSequencesFollowEachOther) {
  const auto source = consecutive_sequences(tokens_, {{100, 200}});
  EXPECT_EQ(source->num_sequences(10), 10);
  EXPECT_EQ(sequence(*source, 0)[0], 'a' + 100 % 26);
  EXPECT_EQ(sequence(*source, 9)[9], 'a' + 199 % 26);
  EXPECT_SENTENCE(sequence(*source, 0, 101), "fewer than one sequence");
}

TEST_F(TokenSourceTest, RangesAreOneRow) {
  const auto source = consecutive_sequences(tokens_, {{0, 3}, {10, 11}, {26, 35}, {100, 110}});
  EXPECT_EQ(source->num_sequences(10), 2);
  const auto first = sequence(*source, 0), second = sequence(*source, 1);
  EXPECT_EQ(std::string(first.begin(), first.end()), "abckabcdef");
  EXPECT_EQ(std::string(second.begin(), second.end()), "ghiwxyzabc");
  EXPECT_EQ(source->num_sequences(23), 1);
  EXPECT_SENTENCE(sequence(*source, 0, 24), "fewer than one sequence");

  // Nothing outside of the ranges is ever shown, in any epoch.
  const auto shuffled = shuffled_sequences(tokens_, {{0, 5}, {26, 31}, {52, 57}}, 3);
  for (int64_t i = 0; i < 100; ++i) {
    for (const int64_t token : sequence(*shuffled, i, 4)) EXPECT_LE(token, 'e');
  }
}

TEST_F(TokenSourceTest, DocumentsBeginWhereTheArrayOrTheRowSaysSo) {
  lact::testing::write_file(
      folder_ / "d.jsonl",
      "{\"text\": \"aaa\"}\n{\"text\": \"bb\"}\n{\"text\": \"cccc\"}\n{\"text\": \"d\"}\n");
  // aaa.bb.cccc.d.
  const auto array = open_corpus(*byte_tokenizer(), {{folder_ / "d.jsonl"}, folder_ / "cache", {}});
  ASSERT_EQ(array->size(), 14);
  const auto whole = consecutive_sequences(array, {{0, 14}});
  EXPECT_EQ(whole->document_begins(0, 14), (std::vector<int64_t>{4, 7, 12}));
  EXPECT_EQ(whole->document_begins(0, 7), (std::vector<int64_t>{4}));
  EXPECT_EQ(whole->document_begins(1, 7), (std::vector<int64_t>{5})) << "it begins with a document";
  EXPECT_EQ(whole->document_begins(1, 5), (std::vector<int64_t>{2}));
  // Parts of one document that do not touch are two.
  const auto parts = consecutive_sequences(array, {{0, 2}, {7, 9}, {10, 14}});
  EXPECT_EQ(parts->document_begins(0, 8), (std::vector<int64_t>{2, 4, 6}));
  const auto shuffled = shuffled_sequences(array, {{0, 14}}, 3);
  for (int64_t i = 0; i < 20; ++i) {
    const auto tokens = sequence(*shuffled, i, 6);
    std::vector<int64_t> wanted;
    for (int64_t t = 1; t < 6; ++t) {
      if (tokens[size_t(t - 1)] == 0) wanted.push_back(t);
    }
    EXPECT_EQ(shuffled->document_begins(i, 6), wanted);
  }
}

}  // namespace
}  // namespace lact::data
