#include "lact/reproduce/step_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.h"

namespace lact::reproduce {
namespace {

using ::testing::ElementsAre;

bool is_known_here(const std::string& id) { return id == "train" || id == "rate-0.001"; }

Words in_folders(const Words& words) {
  return with_places(words, is_known_here, [](const std::string& id) { return "<" + id + ">"; });
}

TEST(StepWords, NamesOfStepsBecomeFolders) {
  EXPECT_THAT(in_folders({"lm", "eval", "--model", "a=@train/model", "-o", "@out"}),
              ElementsAre("lm", "eval", "--model", "a=<train>/model", "-o", "<out>"));
  EXPECT_THAT(in_folders({"@train,@rate-0.001"}), ElementsAre("<train>,<rate-0.001>"));
}

TEST(StepWords, ADotMayEndTheName) {
  EXPECT_THAT(in_folders({"@out.png", "@rate-0.001.json"}), ElementsAre("<out>.png", "<rate-0.001>.json"));
}

TEST(StepWords, ASignBeforeAnythingElseStandsForItself) {
  EXPECT_THAT(in_folders({"a @ b", "@", "@/x"}), ElementsAre("a @ b", "@", "@/x"));
}

TEST(StepWords, UnknownNamesAreRefused) {
  EXPECT_SENTENCE(in_folders({"@trian/model"}), "\"@trian\" names no step");
  EXPECT_SENTENCE(in_folders({"@outer"}), "\"@outer\" names no step");
}

TEST(StepWords, NamedStepsAreGivenOnce) {
  EXPECT_THAT(named_steps({"@out", "@train/a", "x=@train/b", "@rate-0.001"}, is_known_here),
              ElementsAre("train", "rate-0.001"));
}

TEST(StepWords, LinesCanBeTypedIntoAShell) {
  EXPECT_EQ(shell_line({"lm", "train", "--set", "a.b=2", "-o", "out/x"}), "lm train --set a.b=2 -o out/x");
  EXPECT_EQ(shell_line({"--prompt", "it's [so]", ""}), "--prompt 'it'\\''s [so]' ''");
}

}  // namespace
}  // namespace lact::reproduce
