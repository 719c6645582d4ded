#include "lact/data/text/recall_text.h"

#include <map>
#include <set>

#include "support/errors.h"

namespace lact::data {
namespace {

TEST(RecallTextTest, EveryAnswerWasTold) {
  const RecallTextOptions options;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto text = recall_text(options, seed, 400);
    EXPECT_GE(text.words.size(), 400u);
    EXPECT_GT(text.answers.size(), 100u);
    std::map<std::string, std::string> told;
    for (size_t i = 0; i + 2 < text.words.size(); ++i) {
      if (text.words[i] == "note") {
        EXPECT_TRUE(told.try_emplace(text.words[i + 2], text.words[i + 1]).second) << "told twice";
      }
    }
    EXPECT_LE(int64_t(told.size()), options.facts);
    for (const auto& [word, mentioned] : text.answers) {
      EXPECT_LT(mentioned, word);
      EXPECT_EQ(text.words[size_t(word)], text.words[size_t(mentioned)]);
      EXPECT_EQ(told.at(text.words[size_t(word) - 1]), text.words[size_t(word)]);
      // Between the last mention and the answer the name does not come up with its thing.
      for (int64_t i = mentioned + 2; i < word - 1; ++i)
        EXPECT_NE(text.words[size_t(i)], text.words[size_t(word) - 1]);
    }
  }
}

TEST(RecallTextTest, DependsOnTheSeedAlone) {
  const RecallTextOptions options;
  EXPECT_EQ(recall_text(options, 3, 100).text(), recall_text(options, 3, 100).text());
  EXPECT_NE(recall_text(options, 3, 100).text(), recall_text(options, 4, 100).text());
}

TEST(RecallTextTest, TokensAreThoseOfTheText) {
  const RecallTextOptions options;
  const auto tokenizer = byte_tokenizer();
  const RecallEncoder encoder(*tokenizer, options);
  const auto document = encoder.document(7, 900);
  ASSERT_EQ(document.tokens.size(), 900u);
  const std::string text = recall_text(options, 7, 900).text();
  for (size_t i = 0; i < 900; ++i) EXPECT_EQ(document.tokens[i], uint8_t(text[i]));
  ASSERT_FALSE(document.answers.empty());
  for (const auto& [begin, end, distance] : document.answers) {
    EXPECT_LE(end, 900);
    // The answer with its blank is what stood `distance` tokens before.
    EXPECT_EQ(text.substr(size_t(begin), size_t(end - begin)),
              text.substr(size_t(begin - distance), size_t(end - begin)));
  }
}

TEST(RecallTextTest, WrongOptionsAreSentences) {
  EXPECT_SENTENCE(RecallTextOptions{.names = 1}.check(), "names is 1");
  EXPECT_SENTENCE((RecallTextOptions{.names = 4, .facts = 5}.check()), "facts is 5, expected 2 to 4");
  EXPECT_SENTENCE(RecallTextOptions{.filler = 1}.check(), "filler is 1");
}

}  // namespace
}  // namespace lact::data
