// `lact mask` as a user runs it.
#include <nlohmann/json.hpp>

#include "support/program.h"

namespace lact {
namespace {

using lact::testing::expect_mistake;
using lact::testing::run_program;
using ::testing::HasSubstr;

TEST(MaskVerb, DrawsTheFourMasksOfFigureThree) {
  EXPECT_EQ(run_program("mask --kind full --length 2").out, "update_then_apply 0-2\n████\n████\n");
  EXPECT_EQ(run_program("mask --kind block --length 4 --chunk 2").out,
            "update_then_apply 0-2, update_then_apply 2-4\n████····\n████····\n████████\n████████\n");
  EXPECT_EQ(run_program("mask --kind shifted --length 4 --chunk 2").out,
            "apply_then_update 0-2, apply_only 2-4\n········\n········\n████····\n████····\n");
  EXPECT_EQ(run_program("mask --kind strided --length 3 --chunk 1").out,
            "update_then_apply 0-1, apply_only 1-2, update_then_apply 2-3\n██····\n██····\n██··██\n");
}

TEST(MaskVerb, DrawsLayoutsWithTheirWindows) {
  const auto text = run_program("mask --kind text --length 4 --chunk 2").out;
  EXPECT_THAT(text, HasSubstr("▒▒······\n▒▒▒▒····\n██▓▓▒▒··\n████▒▒▒▒\n█ memory  ▒ window  ▓ both\n"));
  EXPECT_EQ(run_program("mask --kind views").exit_code, 0);
  EXPECT_EQ(run_program("mask --kind video --repeats 2 --visible-clean 1").exit_code, 0);
}

TEST(MaskVerb, DrawsArbitrarySteps) {
  EXPECT_EQ(run_program("mask --steps update:1-3,apply:0-2 --length 3").out,
            "update_only 1-3, apply_only 0-2\n··████\n··████\n······\n");
}

TEST(MaskVerb, ALongMaskIsShrunkAndSaysSo) {
  const auto outcome = run_program("mask --kind shifted --length 1000 --chunk 100");
  EXPECT_THAT(outcome.out, HasSubstr("one cell is 13 x 13 tokens"));
  EXPECT_THAT(outcome.out, HasSubstr("... (10 steps)"));
}

TEST(MaskVerb, PrintsJsonForPrograms) {
  const auto json = nlohmann::json::parse(run_program("mask --kind shifted --length 4 --chunk 2 --json").out);
  EXPECT_EQ(json.at("length"), 4);
  EXPECT_EQ(json.at("steps").at(0),
            (nlohmann::json{{"operation", "apply_then_update"}, {"begin", 0}, {"end", 2}}));
  EXPECT_EQ(json.at("mask").at(3), (nlohmann::json{1, 1, 0, 0}));
}

TEST(MaskVerb, TheMaskOfALayoutHasItsWindow) {
  const auto json = nlohmann::json::parse(run_program("mask --kind text --length 4 --chunk 2 --json").out);
  EXPECT_EQ(json.at("mask"), (nlohmann::json{{1, 0, 0, 0}, {1, 1, 0, 0}, {1, 1, 1, 0}, {1, 1, 1, 1}}));
}

TEST(MaskVerb, AllPartsOfAVideoCount) {
  expect_mistake("mask --kind video --chunk 3500 --chunks 3 --repeats 1",
                 "17500 tokens are too many to draw");
}

TEST(MaskVerb, WritesAPicture) {
  const lact::testing::TemporaryFolder folder;
  const auto outcome =
      run_program("mask --kind strided --length 8 --chunk 2 --png '" + folder / "m.png" + "'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string bytes = lact::testing::read_file(folder / "m.png");
  EXPECT_EQ(bytes.substr(1, 3), "PNG");
  EXPECT_EQ(uint8_t(bytes[18]) * 256 + uint8_t(bytes[19]), 8 * 48);  // width in the PNG header
}

TEST(MaskVerb, MistakesAreOneSentence) {
  expect_mistake("mask", "--kind is missing");
  expect_mistake("mask --kind shfted", "unknown kind \"shfted\"; did you mean shifted?");
  expect_mistake("mask --kind shifted --chunk 0", "the chunk is 0 tokens long");
  expect_mistake("mask --kind full --length 0", "the sequence has 0 tokens");
  expect_mistake("mask --kind full --chunk 3", "--chunk means nothing for kind full; it takes --length");
  expect_mistake("mask --steps update:0-13", "update_only [0, 13) is out of range");
  expect_mistake("mask --steps apply:0-4,apply:3-5", "a token is read twice");
  expect_mistake("mask --steps remember:0-4", "operation is \"remember\", expected one of");
  expect_mistake("mask --steps update:4", "is not of the form operation:begin-end");
  expect_mistake("mask --kind shifted --length 99999", "too many to draw");
  expect_mistake("mask --kind text --length 99999999999", "--length: 99999999999 is out of range");
  expect_mistake("mask --kind views --chunk 16384 --inputs 16384", "too many to draw");
  expect_mistake("mask --kind video --chunk 16384 --repeats 16384 --chunks 16384", "too many to draw");
  expect_mistake("mask --kind text --window 0", "the window is 0 tokens wide");
  expect_mistake("mask --kind video --visible-clean 9", "9 visible tokens of a clean chunk of 4");
  expect_mistake("mask --kind shifted --png /nowhere/m.png", "/nowhere");
}

}  // namespace
}  // namespace lact
