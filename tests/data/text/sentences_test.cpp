#include "lact/data/text/sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lact::data {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Sentences, EndWithAPointOrAMarkBeforeABlank) {
  EXPECT_THAT(split_sentences("One. Two! Three? Four"), ElementsAre("One.", "Two!", "Three?", "Four"));
  EXPECT_THAT(split_sentences("It is 3.5 m. Yes."), ElementsAre("It is 3.5 m.", "Yes."));
  EXPECT_THAT(split_sentences("Really?! Well... yes."), ElementsAre("Really?!", "Well...", "yes."));
}

TEST(Sentences, KeepTheQuotesAndBracketsThatClose) {
  EXPECT_THAT(split_sentences("\"Go.\" (He went.) [Far!] End."),
              ElementsAre("\"Go.\"", "(He went.)", "[Far!]", "End."));
  EXPECT_THAT(split_sentences("\u201CGo.\u201D \u2018Why?\u2019 End."),
              ElementsAre("\u201CGo.\u201D", "\u2018Why?\u2019", "End."));
}

TEST(Sentences, GoOnAfterAbbreviationsAndInitials) {
  const char* const whole[] = {"Mr. and Mrs. Hall met Dr. Low in St. Ives.",
                               "G. K. Chesterton wrote it.",
                               "Trees (e.g. oaks) fall.",
                               "It fell, i.e. it broke.",
                               "\"Mr. Hall is here.\"",
                               "Some (cf.) do not."};
  for (const char* text : whole) EXPECT_THAT(split_sentences(text), ElementsAre(text));
}

TEST(Sentences, JoinToTheTextAgain) {
  const std::string text = "A b. C d! (E f.) \"G h?\" Mr. I went. No end";
  std::string joined;
  for (const auto& sentence : split_sentences(text)) joined += (joined.empty() ? "" : " ") + sentence;
  EXPECT_EQ(joined, text);
}

TEST(Sentences, AnEmptyTextHasNone) { EXPECT_THAT(split_sentences(""), IsEmpty()); }

}  // namespace
}  // namespace lact::data
