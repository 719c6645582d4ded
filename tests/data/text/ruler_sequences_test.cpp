#include "lact/data/text/ruler_sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "support/errors.h"

namespace lact::data {
namespace {

using ::testing::HasSubstr;

std::string text_of(const TokenSource& source, int64_t index, int64_t length) {
  std::vector<int64_t> tokens(static_cast<size_t>(length));
  source.sequence(index, length, tokens.data());
  return {tokens.begin(), tokens.end()};
}

const std::regex kNeedle("special magic (numbers|uuids) for ([a-z]+-[a-z]+) is: ([0-9a-f-]+)\\.");

const std::regex kValue("[0-9a-f-]+");

TEST(RulerSequences, OneExampleFillsASequenceAndItsQuestionAndAnswerAreMarked) {
  const auto tokenizer = byte_tokenizer();
  const auto source = ruler_sequences(*tokenizer, {}, 3);
  std::set<std::string> kinds;
  for (int64_t i = 0; i < 20; ++i) {
    const std::string text = text_of(*source, i, 2000);
    const auto answers = source->answers(i, 2000);
    ASSERT_EQ(answers.size(), 1u);
    const auto [begin, end] = answers[0];
    EXPECT_TRUE(source->document_begins(i, 2000).empty());
    EXPECT_GT(end, 1600) << "filled";
    EXPECT_EQ(text.find('\0'), size_t(end - 1)) << "the answer ends with the end of the text";
    EXPECT_EQ(text.find_first_not_of('\0', size_t(end)), std::string::npos);
    EXPECT_EQ(text[size_t(begin - 1)], '\n') << "the question is the last line";
    EXPECT_TRUE(text.substr(size_t(begin)).starts_with("What "));
    std::smatch asked;
    ASSERT_TRUE(std::regex_search(text, asked, std::regex("in the provided text (is|are) ")));
    const std::string prompt = text.substr(0, size_t(asked.position() + asked.length() - 1));
    EXPECT_TRUE(prompt.ends_with("mentioned in the provided text is") ||
                prompt.ends_with("mentioned in the provided text are"));
    const std::string expected = text.substr(prompt.size(), size_t(end) - 1 - prompt.size());
    for (std::sregex_token_iterator value(expected.begin(), expected.end(), kValue), none; value != none;
         ++value)
      EXPECT_THAT(prompt, HasSubstr(" is: " + value->str() + "."));
    kinds.insert(prompt.substr(0, 20));
  }
  EXPECT_EQ(kinds.size(), 3u) << "a number, a uuid, several";
}

TEST(RulerSequences, ShortExamplesStandOneAfterTheOther) {
  const auto tokenizer = byte_tokenizer();
  const RulerTextOptions options = {.ruler_tasks = {"S-NIAH-1", "S-NIAH-2"}, .shortest = 600};
  const auto source = ruler_sequences(*tokenizer, options, 3);
  std::set<int64_t> lengths;
  for (int64_t i = 0; i < 20; ++i) {
    const std::string text = text_of(*source, i, 4000);
    const auto answers = source->answers(i, 4000);
    const auto begins = source->document_begins(i, 4000);
    ASSERT_EQ(answers.size(), begins.size() + 1);
    for (size_t k = 0; k < answers.size(); ++k) {
      const int64_t from = k == 0 ? 0 : begins[k - 1];
      EXPECT_TRUE(text.substr(size_t(from)).starts_with("A special magic number is hidden"));
      EXPECT_EQ(text[size_t(answers[k].end - 1)], '\0');
      if (k < begins.size()) EXPECT_EQ(answers[k].end, begins[k]);
      lengths.insert(answers[k].end - from);
    }
  }
  EXPECT_LE(*lengths.begin(), 700);
  EXPECT_GE(*lengths.rbegin(), 3000);
}

TEST(RulerSequences, DependOnSeedAndIndexAlone) {
  const auto tokenizer = byte_tokenizer();
  const auto one = ruler_sequences(*tokenizer, {}, 3), same = ruler_sequences(*tokenizer, {}, 3),
             other = ruler_sequences(*tokenizer, {}, 4);
  const std::string first = text_of(*one, 0, 1500), second = text_of(*one, 1, 1500);
  EXPECT_EQ(text_of(*same, 1, 1500), second);
  EXPECT_EQ(text_of(*same, 0, 1500), first);
  EXPECT_NE(first, second);
  EXPECT_NE(text_of(*other, 0, 1500), first);
  EXPECT_EQ(one->num_sequences(1500), 0);
}

TEST(RulerSequences, HoldNothingThatIsKeptForEvaluation) {
  const auto tokenizer = byte_tokenizer();
  const auto source = ruler_sequences(*tokenizer, {.ruler_tasks = {"MK-NIAH"}, .shortest = 0}, 5);
  size_t needles = 0;
  for (int64_t i = 0; i < 30; ++i) {
    const std::string text = text_of(*source, i, 1600);
    for (std::sregex_iterator match(text.begin(), text.end(), kNeedle), end; match != end; ++match) {
      EXPECT_FALSE(ruler::is_kept_for_evaluation((*match)[2].str()));
      EXPECT_FALSE(ruler::is_kept_for_evaluation((*match)[3].str()));
      ++needles;
    }
  }
  EXPECT_EQ(needles, 120u);
}

TEST(RulerSequences, DocumentsAreExamplesInWords) {
  const auto document = ruler_document({.ruler_tasks = {"MQ-NIAH"}, .shortest = 0}, 7, 3, 300);
  EXPECT_EQ(document.task, "niah_multiquery");
  EXPECT_EQ(document.example.answers.size(), 4u);
  EXPECT_EQ(document.example.prompt,
            ruler_document({.ruler_tasks = {"MQ-NIAH"}, .shortest = 0}, 7, 3, 300).example.prompt);
  EXPECT_NE(document.example.prompt,
            ruler_document({.ruler_tasks = {"MQ-NIAH"}, .shortest = 0}, 7, 4, 300).example.prompt);
  EXPECT_SENTENCE(ruler_document({.ruler_tasks = {"MQ-NIAH"}, .shortest = 0}, 7, 3, 20),
                  "20 words have no room for an example of niah_multiquery");
}

TEST(RulerSequences, WrongOptionsAreSentences) {
  const auto tokenizer = byte_tokenizer();
  EXPECT_SENTENCE((RulerTextOptions{.ruler_tasks = {"S-NIAH-9"}, .shortest = 0}.check()),
                  "there is no task S-NIAH-9");
  EXPECT_SENTENCE((RulerTextOptions{.ruler_tasks = {}, .shortest = -1}.check()), "shortest is -1 tokens");
  const auto source = ruler_sequences(*tokenizer, {.ruler_tasks = {"S-NIAH-1"}, .shortest = 0}, 1);
  EXPECT_SENTENCE(text_of(*source, 0, 100), "100 tokens has no room for an example of niah_single_1");
}

}  // namespace
}  // namespace lact::data
