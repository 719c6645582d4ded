#include "lact/data/text/ruler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::data::ruler {
namespace {

using ::testing::ElementsAre;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

const std::string kNoiseLine =
    "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.";

int64_t bytes(const std::string& text) { return static_cast<int64_t>(text.size()); }

int64_t words(const std::string& text) {
  std::istringstream stream(text);
  return std::distance(std::istream_iterator<std::string>(stream), {});
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

struct Needle {
  std::string kind, key, value;
  size_t place;  // in the context
};

/// The prompt taken apart: its three lines, the middle one being all that lies between the first and the
/// last.
struct Parts {
  std::string head, context, tail;
  std::vector<Needle> needles;
};

Parts take_apart(const std::string& prompt) {
  const size_t first = prompt.find('\n'), last = prompt.rfind('\n');
  Parts parts = {
      prompt.substr(0, first), prompt.substr(first + 1, last - first - 1), prompt.substr(last + 1), {}};
  static const std::regex kNeedle("One of the special magic (\\w+) for ([a-z]+-[a-z]+) is: ([0-9a-f-]+)\\.");
  for (std::sregex_iterator match(parts.context.begin(), parts.context.end(), kNeedle), end; match != end;
       ++match) {
    parts.needles.push_back({(*match)[1], (*match)[2], (*match)[3], static_cast<size_t>(match->position())});
  }
  return parts;
}

std::string value_of(const Parts& parts, const std::string& key) {
  for (const auto& needle : parts.needles) {
    if (needle.key == key) return needle.value;
  }
  return "";
}

TEST(Ruler, TasksAreTheSix) {
  std::vector<std::string> names;
  for (const auto& row : tasks()) names.push_back(row.name);
  EXPECT_THAT(names, ElementsAre("niah_single_1", "niah_single_2", "niah_single_3", "niah_multikey_1",
                                 "niah_multivalue", "niah_multiquery"));
}

TEST(Ruler, TasksAreFoundByEitherNameInAnyCase) {
  for (const auto& row : tasks()) {
    EXPECT_EQ(&task(row.name), &row);
    EXPECT_EQ(&task(row.short_name), &row);
  }
  EXPECT_EQ(task("s-niah-3").name, "niah_single_3");
  EXPECT_EQ(task("mk-NIAH").name, "niah_multikey_1");
  EXPECT_EQ(task("NIAH_MultiQuery").name, "niah_multiquery");
}

TEST(Ruler, UnknownTaskNamesTheNearest) {
  EXPECT_SENTENCE(task("niah_singel_2"), "there is no task niah_singel_2; did you mean niah_single_2?");
  EXPECT_SENTENCE(task("MW-NIAHS"), "did you mean MK-NIAH?");
  EXPECT_SENTENCE(task("completely different"), "there are niah_single_1, S-NIAH-1, niah_single_2");
}

TEST(Ruler, SingularPromptIsVerbatim) {
  for (const char* name : {"niah_single_1", "niah_single_2", "niah_single_3", "niah_multikey_1"}) {
    const std::string kind = std::string(name) == "niah_single_3" ? "uuid" : "number";
    const Parts parts = take_apart(make_example(task(name), material(), 200, 1).prompt);
    EXPECT_EQ(parts.head,
              "A special magic " + kind +
                  " is hidden within the following text. Make sure to memorize it. I will quiz you "
                  "about the " +
                  kind + " afterwards.");
    std::smatch match;
    ASSERT_TRUE(std::regex_search(parts.tail, match, std::regex(" for ([a-z]+-[a-z]+) mentioned")))
        << parts.tail;
    EXPECT_EQ(parts.tail, "What is the special magic " + kind + " for " + match.str(1) +
                              " mentioned in the provided text? The special magic " + kind + " for " +
                              match.str(1) + " mentioned in the provided text is");
    EXPECT_EQ(parts.needles[0].kind, kind + "s");
  }
}

TEST(Ruler, PluralPromptIsVerbatim) {
  for (const char* name : {"niah_multivalue", "niah_multiquery"}) {
    const Parts parts = take_apart(make_example(task(name), material(), 200, 2).prompt);
    EXPECT_EQ(
        parts.head,
        "Some special magic numbers are hidden within the following text. Make sure to memorize it. I will "
        "quiz you about the numbers afterwards.");
    std::smatch match;
    ASSERT_TRUE(
        std::regex_search(parts.tail, match, std::regex(" for (.*) mentioned in the provided text\\?")));
    EXPECT_EQ(parts.tail, "What are all the special magic numbers for " + match.str(1) +
                              " mentioned in the provided text? The special magic numbers for " +
                              match.str(1) + " mentioned in the provided text are");
    const bool one_key = std::string(name) == "niah_multivalue";
    EXPECT_TRUE(std::regex_match(
        match.str(1), std::regex(one_key ? "[a-z]+-[a-z]+" : "([a-z]+-[a-z]+, ){3}and [a-z]+-[a-z]+")))
        << match.str(1);
  }
}

TEST(Ruler, NeedlesAndAnswersAreAsManyAsTheTaskSays) {
  struct Expected {
    const char* name;
    size_t needles, keys, answers;
  };
  for (const auto& [name, needles, keys, answers] :
       {Expected{"niah_single_1", 1, 1, 1}, Expected{"niah_single_2", 1, 1, 1},
        Expected{"niah_single_3", 1, 1, 1}, Expected{"niah_multikey_1", 4, 4, 1},
        Expected{"niah_multivalue", 4, 1, 4}, Expected{"niah_multiquery", 4, 4, 4}}) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
      const Example example = make_example(task(name), material(), 150, seed);
      const Parts parts = take_apart(example.prompt);
      ASSERT_THAT(parts.needles, SizeIs(needles)) << name;
      std::set<std::string> names;
      for (const auto& needle : parts.needles) names.insert(needle.key);
      EXPECT_EQ(names.size(), keys) << name;
      ASSERT_THAT(example.answers, SizeIs(answers)) << name;
      for (const auto& answer : example.answers) {
        EXPECT_EQ(count(example.prompt, answer), 1u) << name;
        EXPECT_EQ(count(parts.context, ": " + answer + "."), 1u) << name;
      }
    }
  }
}

TEST(Ruler, AnswersBelongToTheKeysAskedForInTheirOrder) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Example many = make_example(task("niah_multiquery"), material(), 100, seed);
    const Parts parts = take_apart(many.prompt);
    std::string query = parts.tail.substr(parts.tail.find(" for ") + 5);
    query.resize(query.find(" mentioned"));
    static const std::regex kKey("[a-z]+-[a-z]+");
    std::vector<std::string> expected;
    for (std::sregex_iterator key(query.begin(), query.end(), kKey), end; key != end; ++key) {
      expected.push_back(value_of(parts, key->str()));
    }
    EXPECT_EQ(many.answers, expected);

    const Example one = make_example(task("niah_multikey_1"), material(), 100, seed);
    const Parts distracted = take_apart(one.prompt);
    std::string key = distracted.tail.substr(distracted.tail.find(" for ") + 5);
    key.resize(key.find(' '));
    EXPECT_EQ(one.answers.at(0), value_of(distracted, key));
  }
}

TEST(Ruler, ValuesHaveTheirForms) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    EXPECT_TRUE(std::regex_match(make_example(task("niah_single_1"), material(), 3, seed).answers[0],
                                 std::regex("[1-9][0-9]{6}")));
    EXPECT_TRUE(
        std::regex_match(make_example(task("niah_single_3"), material(), 3, seed).answers[0],
                         std::regex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")));
  }
}

TEST(Ruler, NoiseHasTheNeedleOnALineOfItsOwnBeforeALine) {
  std::set<size_t> places;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Parts parts = take_apart(make_example(task("niah_single_1"), material(), 5, seed).prompt);
    std::istringstream stream(parts.context);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    ASSERT_THAT(lines, SizeIs(6));
    EXPECT_EQ(std::count(lines.begin(), lines.end(), kNoiseLine), 5);
    places.insert(static_cast<size_t>(
        std::find_if(lines.begin(), lines.end(), [](const auto& line) { return line != kNoiseLine; }) -
        lines.begin()));
  }
  EXPECT_THAT(places, ElementsAre(0, 1, 2, 3, 4));
}

TEST(Ruler, EssayIsOneLineWithNeedlesBetweenSentences) {
  Material own = {
      {"red"},
      {"hat", "cup", "car", "cow"},
      "One two.\n\n  Three Mr. four.\tFive six! Seven",
  };
  std::set<std::string> contexts;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Parts parts = take_apart(make_example(task("niah_single_2"), own, 8, seed).prompt);
    const Needle& needle = parts.needles.at(0);
    const std::string text =
        "One of the special magic numbers for " + needle.key + " is: " + needle.value + ".";
    contexts.insert(std::regex_replace(parts.context,
                                       std::regex(std::regex_replace(text, std::regex("\\."), "\\.")), "*"));
  }
  EXPECT_THAT(
      contexts,
      ElementsAre("* One two. Three Mr. four. Five six! Seven", "One two. * Three Mr. four. Five six! Seven",
                  "One two. Three Mr. four. * Five six! Seven", "One two. Three Mr. four. Five six! * Seven",
                  "One two. Three Mr. four. Five six! Seven *"));
}

TEST(Ruler, EssayStartsOverWhenItIsTooShort) {
  const Material own = {{"red"}, {"hat"}, " Go on. "};
  const Parts parts = take_apart(make_example(task("niah_single_2"), own, 5, 1).prompt);
  EXPECT_EQ(std::regex_replace(parts.context, std::regex(" ?One of the .*: [0-9]+\\."), ""),
            "Go on. Go on. Go");
}

TEST(Ruler, EssayDepthsAreFortyFromTheBeginningToTheEnd) {
  // A haystack of 100 sentences shows the depth in per cent as the number of sentences before the needle.
  Material own = material();
  own.essay.clear();
  for (int i = 0; i < 100; ++i) own.essay += "Word. ";
  std::set<size_t> places;
  std::set<double> depths;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const Example example = make_example(task("niah_single_2"), own, 100, seed);
    const Parts parts = take_apart(example.prompt);
    places.insert(count(parts.context.substr(0, parts.needles.at(0).place), "Word."));
    depths.insert(example.depth);
    const double before =
        static_cast<double>(count(parts.context.substr(0, parts.needles[0].place), "Word."));
    EXPECT_NEAR(example.depth, before / 100, 0.003);
  }
  EXPECT_THAT(places,
              ElementsAre(0, 3, 5, 8, 10, 13, 15, 18, 21, 23, 26, 28, 31, 33, 36, 38, 41, 44, 46, 49, 51, 54,
                          56, 59, 62, 64, 67, 69, 72, 74, 77, 79, 82, 85, 87, 90, 92, 95, 97, 100));
  EXPECT_EQ(*depths.begin(), 0);
  EXPECT_EQ(*depths.rbegin(), 1);
}

TEST(Ruler, DepthIsThatOfTheFirstNeedleAskedFor) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Example example = make_example(task("niah_multiquery"), material(), 500, seed);
    const Parts parts = take_apart(example.prompt);
    const auto needle = std::find_if(parts.needles.begin(), parts.needles.end(),
                                     [&](const Needle& any) { return any.value == example.answers[0]; });
    ASSERT_NE(needle, parts.needles.end());
    EXPECT_NEAR(example.depth, static_cast<double>(needle->place) / static_cast<double>(parts.context.size()),
                0.03);
  }
}

TEST(Ruler, ExamplesFitTheLengthAndFillIt) {
  for (const auto& row : tasks()) {
    for (const int64_t length : {1500, 4096, 20000}) {
      for (const auto& example : make_examples(row, material(), length, 10, 42, bytes)) {
        EXPECT_LE(bytes(example.prompt) + 128, length) << row.name;
        EXPECT_GE(bytes(example.prompt) + 128, length * 2 / 3) << row.name;
      }
    }
    for (const int64_t length : {300, 1024, 8192}) {
      for (const auto& example : make_examples(row, material(), length, 10, 42, words, 32)) {
        EXPECT_LE(words(example.prompt) + 32, length) << row.name;
        EXPECT_GE(words(example.prompt) + 32, length * 2 / 3) << row.name;
      }
    }
  }
}

TEST(Ruler, FittedHaystackIsTheLargest) {
  for (const auto& row : tasks()) {
    const int64_t size = fit_haystack(row, material(), 5000, bytes, 7);
    EXPECT_LE(bytes(make_example(row, material(), size, 7).prompt) + 128, 5000) << row.name;
    EXPECT_GT(bytes(make_example(row, material(), size + 1, 7).prompt) + 128, 5000) << row.name;
  }
}

TEST(Ruler, CounterThatDoesNotCountEndsTheSearch) {
  EXPECT_GT(fit_haystack(
                task("niah_single_1"), material(), 200, [](const std::string&) { return 0; }, 7),
            200);
}

TEST(Ruler, ExamplesDependOnTheirSeedAlone) {
  for (const auto& row : tasks()) {
    const auto first = make_examples(row, material(), 3000, 4, 1, bytes);
    const auto again = make_examples(row, material(), 3000, 3, 1, bytes);
    const auto other = make_examples(row, material(), 3000, 4, 2, bytes);
    ASSERT_THAT(first, SizeIs(4));
    for (size_t i = 0; i < again.size(); ++i) {
      EXPECT_EQ(first[i].prompt, again[i].prompt);
      EXPECT_EQ(first[i].answers, again[i].answers);
      EXPECT_NE(first[i].answers, other[i].answers);
      EXPECT_NE(first[i].answers, first[i + 1].answers);
    }
  }
}

TEST(Ruler, SameSeedAsksTheSameInEveryHaystack) {
  for (const auto& row : tasks()) {
    const Example small = make_example(row, material(), 10, 5),
                  large = make_example(row, material(), 1000, 5);
    EXPECT_EQ(small.answers, large.answers);
    EXPECT_EQ(take_apart(small.prompt).tail, take_apart(large.prompt).tail);
  }
}

TEST(Ruler, LengthTooSmallSaysWhatIsNeeded) {
  const Task& row = task("niah_single_2");
  const int64_t needed = bytes(make_example(row, material(), 0, 9).prompt) + 128;
  EXPECT_SENTENCE(fit_haystack(row, material(), needed - 1, bytes, 9),
                  "is too short for niah_single_2: its shortest prompt takes " +
                      std::to_string(needed - 128) + " and 128 are reserved for the answer, so at least " +
                      std::to_string(needed) + " are needed");
  EXPECT_EQ(fit_haystack(row, material(), needed, bytes, 9), 0);
  EXPECT_SENTENCE(make_examples(task("niah_single_1"), material(), 100, 1, 9, bytes),
                  "100 tokens is too short");
  EXPECT_SENTENCE(make_examples(row, material(), 0, 1, 9, bytes), "the length is 0 tokens");
  EXPECT_SENTENCE(make_examples(row, material(), 4096, -1, 9, bytes), "-1 examples are asked for");
  EXPECT_SENTENCE(make_examples(row, material(), 4096, 1, 9, bytes, -5), "-5 tokens are reserved");
  EXPECT_THAT(make_examples(row, material(), 4096, 0, 9, bytes), SizeIs(0));
}

TEST(Ruler, HaystackTooSmallOrMaterialTooPoorIsASentence) {
  EXPECT_SENTENCE(make_example(task("niah_single_1"), material(), 0, 1),
                  "a haystack of 0 lines has no room for 1 needles");
  EXPECT_SENTENCE(make_example(task("niah_single_2"), material(), -1, 1), "size -1");
  EXPECT_SENTENCE(make_example(task("niah_multikey_1"), {{"red"}, {"hat", "cup"}, "Go."}, 3, 1),
                  "only 2 different keys, expected at least 4");
  EXPECT_SENTENCE(make_example(task("niah_single_2"), {{}, {"hat"}, "Go."}, 3, 1),
                  "0 adjectives and 1 nouns");
  EXPECT_SENTENCE(make_example(task("niah_single_2"), {{"red"}, {"hat"}, " \n"}, 3, 1), "holds no words");
}

TEST(Ruler, MaterialComesFromFilesOrIsBuiltIn) {
  const testing::TemporaryFolder folder;
  testing::write_file(folder / "essay", "Once.  Twice.\n");
  testing::write_file(folder / "adjectives", "red \r\n\nblue\nred\n");
  testing::write_file(folder / "nouns", "SUV\nice cream");
  const Material read = read_material(folder / "essay", folder / "adjectives", folder / "nouns");
  EXPECT_EQ(read.essay, "Once.  Twice.\n");
  EXPECT_THAT(read.adjectives, ElementsAre("blue", "red"));
  EXPECT_THAT(read.nouns, ElementsAre("SUV", "ice cream"));
  const Material mixed = read_material("", folder / "adjectives", "");
  EXPECT_EQ(mixed.essay, material().essay);
  EXPECT_EQ(mixed.nouns, material().nouns);
  EXPECT_THAT(mixed.adjectives, SizeIs(2));
  testing::write_file(folder / "empty", " \n");
  EXPECT_SENTENCE(read_material(folder / "missing", "", ""), "missing: cannot be opened for reading");
  EXPECT_SENTENCE(read_material(folder / "empty", "", ""), "empty: holds no words");
  EXPECT_SENTENCE(read_material("", "", folder / "empty"), "empty: holds no words");
}

TEST(Ruler, TrainingAndEvaluationShareNoKeyAndNoValue) {
  Material training = material(), evaluation = material();
  training.part = Part::training;
  evaluation.part = Part::evaluation;
  size_t kept = 0, all = 0;
  for (const auto& row : tasks()) {
    for (uint64_t seed = 0; seed < 30; ++seed) {
      for (const auto& needle : take_apart(make_example(row, training, 60, seed).prompt).needles) {
        EXPECT_FALSE(is_kept_for_evaluation(needle.key)) << needle.key;
        EXPECT_FALSE(is_kept_for_evaluation(needle.value)) << needle.value;
      }
      for (const auto& needle : take_apart(make_example(row, evaluation, 60, seed).prompt).needles) {
        EXPECT_TRUE(is_kept_for_evaluation(needle.key)) << needle.key;
        EXPECT_TRUE(is_kept_for_evaluation(needle.value)) << needle.value;
      }
      for (const auto& needle : take_apart(make_example(row, material(), 60, seed).prompt).needles) {
        kept += is_kept_for_evaluation(needle.value);
        ++all;
      }
    }
  }
  EXPECT_NEAR(double(kept) / double(all), 0.25, 0.08);
  Material poor = {{"red"}, {"hat", "cup", "car", "cow"}, "Go.", Part::evaluation};
  EXPECT_SENTENCE(make_example(task("niah_multikey_1"), poor, 3, 1), "different keys kept for evaluation");
}

TEST(Ruler, TrainingTakesTheEssayFromAnySentence) {
  Material own = {material().adjectives, material().nouns, "One a b. Two c d. Three e f. Four g h.",
                  Part::training};
  std::set<std::string> begins;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Parts parts = take_apart(make_example(task("niah_single_2"), own, 3, seed).prompt);
    const size_t capital = parts.context.starts_with("One of the special") ? parts.context.find(". ") + 2 : 0;
    begins.insert(parts.context.substr(capital, 3));
  }
  EXPECT_THAT(begins, ElementsAre("Fou", "One", "Thr", "Two"));
}

TEST(Ruler, CompletionHoldsTheAnswersAsTheirNeedlesDo) {
  const Example one = make_example(task("niah_single_1"), material(), 5, 1);
  EXPECT_EQ(one.completion(), " " + one.answers[0] + ".");
  for (uint64_t seed = 0; seed < 20; ++seed) {
    // The values of one key come in the order of the text: no other order could be known.
    const Example many = make_example(task("niah_multivalue"), material(), 100, seed);
    std::string expected;
    for (const auto& needle : take_apart(many.prompt).needles) expected += " " + needle.value + ".";
    EXPECT_EQ(many.completion(), expected);
  }
}

}  // namespace
}  // namespace lact::data::ruler
