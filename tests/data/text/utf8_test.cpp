#include "lact/data/text/utf8.h"

#include <gtest/gtest.h>

namespace lact::data {

namespace {

const std::string kMixed = "a\xC3\xA9\xE6\x97\xA5\xF0\x9F\x98\x80z";  // a é 日 😀 z

TEST(Utf8, ValidTextHasNoInvalidByte) {
  EXPECT_FALSE(find_invalid_utf8(""));
  EXPECT_FALSE(find_invalid_utf8(kMixed));
  EXPECT_FALSE(find_invalid_utf8(std::string("\0\x7F", 2)));
  EXPECT_FALSE(
      find_invalid_utf8("\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF"));  // beside the surrogates; the last
}

TEST(Utf8, NamesTheFirstInvalidByte) {
  EXPECT_EQ(find_invalid_utf8("abc\xFF"), 3u);
  EXPECT_EQ(find_invalid_utf8("0123456789caf\xE9 au lait"), 13u) << "Latin-1";
  EXPECT_EQ(find_invalid_utf8("a\x80"), 1u) << "a continuation alone";
  EXPECT_EQ(find_invalid_utf8("\xC0\xAF"), 0u) << "overlong";
  EXPECT_EQ(find_invalid_utf8("\xE0\x80\xAF"), 0u) << "overlong";
  EXPECT_EQ(find_invalid_utf8("\xF0\x8F\xBF\xBF"), 0u) << "overlong";
  EXPECT_EQ(find_invalid_utf8("\xED\xA0\x80"), 0u) << "surrogate";
  EXPECT_EQ(find_invalid_utf8("\xF4\x90\x80\x80"), 0u) << "above U+10FFFF";
  EXPECT_EQ(find_invalid_utf8("\xF5\x80\x80\x80"), 0u);
  EXPECT_EQ(find_invalid_utf8("ab\xE6\x97"), 2u) << "cut off";
}

TEST(Utf8, WholeCharactersLeaveOutOnlyTheOneThatIsCutOff) {
  EXPECT_EQ(whole_utf8_characters(""), 0u);
  const std::vector<size_t> expected = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
  for (size_t length = 0; length <= kMixed.size(); ++length) {
    EXPECT_EQ(whole_utf8_characters(kMixed.substr(0, length)), expected[length]) << length;
  }
  EXPECT_EQ(whole_utf8_characters("ab\xFF"), 3u) << "an invalid byte will not become whole";
}

TEST(Utf8, ValidatorGivesTheSamePlaceForAnyBlocks) {
  for (const std::string& text :
       {kMixed, kMixed + "\xED\xA0\x80", kMixed + "\xE9 ", kMixed + "\xF0\x9F", "\xFF" + kMixed}) {
    for (size_t block = 1; block <= text.size(); ++block) {
      Utf8Validator validator;
      std::optional<Utf8Validator::Mistake> mistake;
      for (size_t i = 0; i < text.size() && !mistake; i += block)
        mistake = validator.push(text.substr(i, block));
      if (!mistake) mistake = validator.finish();
      const auto expected = find_invalid_utf8(text);
      ASSERT_EQ(mistake.has_value(), expected.has_value()) << block;
      if (!mistake) continue;
      EXPECT_EQ(mistake->position, *expected) << block;
      EXPECT_EQ(mistake->byte, static_cast<uint8_t>(text[*expected])) << block;
    }
  }
}

TEST(Utf8, StreamPassesOnWholeCharacters) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("a\xF0\x9F"), "a");
  EXPECT_EQ(stream.push("\x98"), "");
  EXPECT_EQ(stream.push("\x80z"), "😀z");
  EXPECT_EQ(stream.finish(), "");
}

TEST(Utf8, StreamReplacesWhatIsInvalid) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("a\xFF"
                        "b\xE6\x97"),
            "a\uFFFDb");
  EXPECT_EQ(stream.push("c"), "\uFFFDc");
  EXPECT_EQ(stream.push("\xE6"), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
  EXPECT_EQ(stream.finish(), "");
}

}  // namespace

}  // namespace lact::data
