#include "lact/data/text/word_model.h"

#include "lact/data/text/recall_text.h"
#include "lact/data/text/tokenizer.h"

#include <gtest/gtest.h>

namespace lact::data {
namespace {

TEST(WordModelTest, EachWordIsOneTokenInItsOrder) {
  const auto tokenizer = sentencepiece_from_bytes(word_model({"note", "Lamp", ".", "Lamp"}), "words");
  EXPECT_EQ(tokenizer->vocabulary_size(), 6);
  EXPECT_EQ(tokenizer->encode("Lamp note . Lamp"), (std::vector<int32_t>{4, 3, 5, 4}));
  EXPECT_EQ(tokenizer->encode_continuation(" note"), std::vector<int32_t>{3});
  EXPECT_EQ(tokenizer->decode({4, 3}), "Lamp note");
  EXPECT_EQ(tokenizer->end_of_text(), 2);
}

TEST(WordModelTest, OfTheBuiltInTextNothingIsUnknown) {
  const RecallTextOptions options{.names = 300, .things = 200, .facts = 40, .filler = 0.3};
  const auto tokenizer = sentencepiece_from_bytes(word_model(recall_words(options)), "words");
  const RecallText text = recall_text(options, 5, 500);
  const auto tokens = tokenizer->encode(text.text());
  ASSERT_EQ(tokens.size(), text.words.size());
  for (const int32_t token : tokens) EXPECT_GE(token, 3);
  EXPECT_EQ(tokenizer->decode(tokens), text.text());
}

}  // namespace
}  // namespace lact::data
