#include "lact/data/text/tales.h"

#include <gmock/gmock.h>

#include <map>
#include <regex>
#include <set>

#include "lact/data/text/tale_material.h"
#include "support/errors.h"

namespace lact::data {
namespace {

TEST(TalesTest, DependOnTheSeedAloneAndGoOn) {
  const TalesOptions options;
  const std::string brief = tale(options, 3, 100), longer = tale(options, 3, 1000);
  EXPECT_EQ(brief, tale(options, 3, 100));
  EXPECT_NE(brief, tale(options, 4, 100));
  EXPECT_EQ(brief.substr(0, brief.size() - 1), longer.substr(0, brief.size() - 1));
  EXPECT_GE(std::count(longer.begin(), longer.end(), ' '), 990);
}

TEST(TalesTest, AreWholeSentences) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::string text = tale({}, seed, 800);
    EXPECT_EQ(text.find_first_of("{}"), std::string::npos) << text;
    EXPECT_EQ(text.find("  "), std::string::npos) << text;
    EXPECT_FALSE(std::regex_search(text, std::regex("\\ba [aeiou]|\\ban [^aeiou]"))) << text;
    EXPECT_FALSE(std::regex_search(text, std::regex("[.!?] [a-z]"))) << text;
  }
}

/// Each pet with the kinds of animal that it is said to be.
std::map<std::string, std::set<std::string>> kinds_of_pets(const std::string& text) {
  std::map<std::string, std::set<std::string>> kinds;
  const std::regex named("([A-Z][a-z]+) the ([a-z]+)");
  const auto& known = tales::material();
  for (std::sregex_iterator it(text.begin(), text.end(), named), end; it != end; ++it) {
    if (std::count(known.pets.begin(), known.pets.end(), (*it)[1])) kinds[(*it)[1]].insert((*it)[2]);
  }
  return kinds;
}

TEST(TalesTest, WhatIsToldOfSomebodyStaysTrue) {
  std::map<std::string, std::set<std::string>> everywhere;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const auto kinds = kinds_of_pets(tale({}, seed, 3000));
    EXPECT_GE(kinds.size(), 3u);
    for (const auto& [pet, kind] : kinds) {
      EXPECT_EQ(kind.size(), 1u) << pet << " is a " << *kind.begin() << " and a " << *kind.rbegin();
      everywhere[pet].insert(*kind.begin());
    }
  }
  // Another tale, another animal: nothing can be known by heart.
  EXPECT_TRUE(std::any_of(everywhere.begin(), everywhere.end(),
                          [](const auto& pet) { return pet.second.size() > 1; }));
}

TEST(TalesTest, SequencesAreTalesFromTheirBeginning) {
  const auto tokenizer = byte_tokenizer();
  const auto sequences = tale_sequences(*tokenizer, {}, 1);
  std::vector<int64_t> first(500), longer(700), second(500);
  sequences->sequence(0, 500, first.data());
  sequences->sequence(0, 700, longer.data());
  sequences->sequence(1, 500, second.data());
  EXPECT_EQ(first, std::vector<int64_t>(longer.begin(), longer.begin() + 500));
  EXPECT_NE(first, second);
  EXPECT_THAT(std::string(first.begin(), first.end()), ::testing::StartsWith("The Tale of "));
}

TEST(TalesTest, WrongNumbersOfPeopleAreSentences) {
  EXPECT_SENTENCE(tale({.people = 2}, 1, 10), "people is 2, expected 3 to 24");
  EXPECT_SENTENCE(tale({.people = 25}, 1, 10), "people is 25, expected 3 to 24");
  EXPECT_FALSE(tale({.people = 3}, 1, 10).empty());
  EXPECT_FALSE(tale({.people = 24}, 1, 2000).empty());
}

}  // namespace
}  // namespace lact::data
