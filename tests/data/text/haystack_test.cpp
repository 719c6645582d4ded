#include "lact/data/text/haystack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

namespace lact::data {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

void expect_plain_words(const std::vector<std::string>& words, size_t at_least) {
  EXPECT_GE(words.size(), at_least);
  EXPECT_TRUE(std::is_sorted(words.begin(), words.end()));
  EXPECT_EQ(std::set<std::string>(words.begin(), words.end()).size(), words.size());
  for (const auto& word : words) {
    EXPECT_TRUE(!word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return c >= 'a' && c <= 'z';
    })) << word;
  }
}

TEST(Haystack, WordsArePlainSortedAndDifferent) {
  expect_plain_words(adjectives(), 150);
  expect_plain_words(nouns(), 300);
}

TEST(Haystack, EssayHasAsManyWordsAsAskedAndEndsWithASentence) {
  for (const int64_t words : {1, 10, 1000, 20000}) {
    const std::string essay = essay_text(3, words);
    const auto count = static_cast<int64_t>(words_of(essay).size());
    EXPECT_GE(count, words);
    EXPECT_LT(count, words + 60);
    EXPECT_TRUE(std::string(".!?\"").find(essay.back()) != std::string::npos) << essay.back();
  }
  EXPECT_EQ(essay_text(3, 0), "");
}

TEST(Haystack, EssayDependsOnTheSeedAlone) {
  EXPECT_EQ(essay_text(5, 500), essay_text(5, 500));
  EXPECT_NE(essay_text(5, 500), essay_text(6, 500));
  EXPECT_THAT(essay_text(5, 500), StartsWith(essay_text(5, 100)));
}

TEST(Haystack, EssayIsCleanProse) {
  const std::string essay = essay_text(1, 50000);
  EXPECT_THAT(essay, Not(HasSubstr("special")));
  EXPECT_THAT(essay, Not(HasSubstr("magic")));
  EXPECT_THAT(essay, Not(HasSubstr("%")));
  EXPECT_THAT(essay, Not(HasSubstr("  ")));
  EXPECT_TRUE(std::none_of(essay.begin(), essay.end(), [](char c) { return c >= '0' && c <= '9'; }));
  for (const char end : {'.', '!', '?'}) EXPECT_GT(std::count(essay.begin(), essay.end(), end), 100) << end;
  const auto words = words_of(essay);
  EXPECT_GT(std::set<std::string>(words.begin(), words.end()).size(), 500u);
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const bool vowel = std::string("aeiou").find(words[i + 1][0]) != std::string::npos;
    const bool a = words[i] == "a" || words[i] == "A", an = words[i] == "an" || words[i] == "An";
    EXPECT_FALSE(vowel ? a : an) << words[i] << ' ' << words[i + 1];
  }
}

TEST(Haystack, SentencesHardlyRepeat) {
  std::istringstream stream(essay_text(2, 20000));
  std::set<std::string> different;
  size_t all = 0;
  for (std::string sentence; std::getline(stream, sentence, '.'); ++all) different.insert(sentence);
  EXPECT_GT(static_cast<double>(different.size()), 0.98 * static_cast<double>(all));
}

}  // namespace
}  // namespace lact::data
