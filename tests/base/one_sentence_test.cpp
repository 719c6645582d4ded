#include "lact/base/one_sentence.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <new>

#include "lact/base/error.h"
#include "lact/base/memory_use.h"
#include "lact/base/out_of_memory.h"

namespace lact {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

template <class Throwing>
std::string sentence_of(Throwing&& throwing) {
  try {
    throwing();
  } catch (const std::exception& error) {
    return one_sentence(error);
  }
  return "nothing was thrown";
}

const auto a_petabyte = [] { return at::empty({int64_t(1) << 50}, at::kByte); };

TEST(OneSentence, LeavesOurOwnSentencesAsTheyAre) {
  EXPECT_EQ(sentence_of([] { fail("[op] q has {} heads,\nexpected 4", 6); }),
            "[op] q has 6 heads,\nexpected 4");
}

TEST(OneSentence, CutsTheTraceOfLibTorch) {
  const auto mismatched = [] { at::ones({2, 3}).matmul(at::ones({4, 5})); };
  const std::string sentence = sentence_of(mismatched);
  EXPECT_THAT(sentence, HasSubstr("2x3 and 4x5"));
  EXPECT_THAT(sentence, Not(HasSubstr("\n")));
  EXPECT_THAT(sentence, Not(HasSubstr("frame #")));
}

TEST(OneSentence, SaysHowMuchMemoryWasMissing) {
  const std::string sentence = sentence_of(a_petabyte);
  EXPECT_THAT(sentence, HasSubstr("not enough memory (1.1 PB at once; this machine has "));
  EXPECT_THAT(sentence, Not(HasSubstr("\n")));
  EXPECT_EQ(sentence_of([] { throw std::bad_alloc(); }), "not enough memory");
}

TEST(OneSentence, NamesThePathAndTheReasonOfAFilesystemError) {
  EXPECT_EQ(sentence_of([] { std::filesystem::create_directory("/proc/1/no"); }).substr(0, 12),
            "/proc/1/no: ");
}

TEST(OneSentence, TellsAMistakeOfTheCallerFromOneOfOurs) {
  EXPECT_TRUE(is_callers_mistake(Error("a sentence")));
  EXPECT_TRUE(is_callers_mistake(std::bad_alloc()));
  EXPECT_FALSE(is_callers_mistake(std::logic_error("ours")));
}

TEST(Making, NamesWhatWasBeingMadeAndTheInnermostSpeaks) {
  const auto made = [](auto make) {
    return sentence_of([&] { making("the model", [&] { making("the embedding", make); }); });
  };
  EXPECT_THAT(made(a_petabyte), HasSubstr("not enough memory for the embedding (1.1 PB at once"));
  EXPECT_EQ(made([] { throw std::bad_alloc(); }), "not enough memory for the embedding");
  EXPECT_EQ(made([] { fail("another mistake"); }), "another mistake");
  EXPECT_THROW(making("a list", [] { throw std::bad_alloc(); }), OutOfMemory);
  EXPECT_EQ(making("a number", [] { return 7; }), 7);
}

TEST(Making, RefusesMoreThanTheMachineHasBeforeItIsTaken) {
  EXPECT_NO_THROW(check_memory_for(1e6, "a little"));
  EXPECT_GT(machine_memory_bytes(), int64_t(1) << 28);
  EXPECT_THAT(sentence_of([] { check_memory_for(1e18, "the weights"); }),
              HasSubstr("not enough memory for the weights (1000.0 PB at once; this machine has "));
}

}  // namespace
}  // namespace lact
