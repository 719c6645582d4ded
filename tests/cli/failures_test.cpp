// What the program says, and how it ends, when something goes wrong that is not a verb's own business.
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "lact/base/error.h"
#include "lact/cli/program.h"
#include "support/program.h"

namespace lact::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Ending {
  int exit_code;
  std::string err;
};

/// The program with one verb, which does this.
Ending run_with(const std::function<void()>& work, std::vector<const char*> words = {}) {
  const AddVerb verb = [&](CLI::App& program, int&) {
    program.add_subcommand("work", "A verb")->callback(work);
  };
  words.insert(words.begin(), {"lact", "work"});
  ::testing::internal::CaptureStderr();
  const int exit_code = run_program(int(words.size()), words.data(), {verb});
  return {exit_code, ::testing::internal::GetCapturedStderr()};
}

void expect_one_sentence(const Ending& ending, int exit_code, const std::string& sentence) {
  EXPECT_EQ(ending.exit_code, exit_code);
  EXPECT_THAT(ending.err, HasSubstr("lact: error: "));
  EXPECT_THAT(ending.err, HasSubstr(sentence));
  EXPECT_EQ(std::count(ending.err.begin(), ending.err.end(), '\n'), 1) << ending.err;
}

void fail_in_libtorch() { TORCH_CHECK(false, "sizes do not match"); }

TEST(Failures, LibTorchSaysOneSentenceAndItsTraceOnlyWhenAsked) {
  expect_one_sentence(run_with(fail_in_libtorch), 1, "sizes do not match");
  const Ending debug = run_with(fail_in_libtorch, {"--debug"});
  EXPECT_EQ(debug.exit_code, 1);
  EXPECT_THAT(debug.err, HasSubstr("Exception raised from"));
}

TEST(Failures, MistakesOfTheCallerAreTwoAndAllElseIsOne) {
  expect_one_sentence(run_with([] { fail("[work] x is {}", 3); }), 2, "[work] x is 3");
  expect_one_sentence(run_with([] { throw std::runtime_error("a\nb"); }), 1, "error: a");
  expect_one_sentence(run_with([] { throw 5; }), 1, "error: ");
  EXPECT_EQ(run_with([] {}).exit_code, 0);
}

TEST(Failures, OutOfMemoryIsOneSentence) {
  expect_one_sentence(run_with([] { throw std::bad_alloc(); }), 2, "not enough memory");
}

/// `script` in a shell that knows the program as $lact; its stdout is returned.
std::string shell(const std::string& script) {
  const lact::testing::TemporaryFolder folder;
  lact::testing::write_file(folder / "run.sh", "lact='" + lact::testing::program_file() + "'\n" + script);
  std::ignore =
      std::system(("timeout 60 bash '" + folder / "run.sh" + "' > '" + folder / "out" + "' 2>&1").c_str());
  return lact::testing::read_file(folder / "out");
}

TEST(Failures, ResultsThatAreLostAreSaid) {
  for (const std::string verb : {"--help", "info lm_tiny --json"}) {
    EXPECT_EQ(shell("\"$lact\" " + verb + " > /dev/full; echo $?"),
              "lact: error: the results cannot be written to stdout: No space left on device\n1\n");
    EXPECT_EQ(shell("\"$lact\" " + verb + " >&-; echo $?"),
              "lact: error: the results cannot be written to stdout: Bad file descriptor\n1\n");
  }
}

TEST(Failures, AFileNeverTakesThePlaceOfAClosedStdout) {
  EXPECT_EQ(
      shell("cd \"$(mktemp -d)\"; \"$lact\" -q mask --kind full --length 4 --png x.png >&- 2>/dev/null; "
            "echo $?; head -c 4 x.png | tail -c 3; rm -r \"$PWD\""),
      "1\nPNG");
}

TEST(Failures, AReaderThatHasGoneEndsTheProgramWithoutAWord) {
  EXPECT_EQ(shell("\"$lact\" info lm_tiny --json | true; echo ${PIPESTATUS[0]}"), "141\n");
  EXPECT_EQ(shell("trap '' PIPE; \"$lact\" info lm_tiny --json | true; echo ${PIPESTATUS[0]}"), "141\n");
}

TEST(Failures, OutputsAreCheckedBeforeTheWork) {
  const lact::testing::TemporaryFolder folder;
  lact::testing::write_file(folder / "file", "");
  using lact::testing::expect_mistake;
  expect_mistake("lm ingest --model nowhere x.txt -o nowhere/x.mem",
                 "nowhere/x.mem: cannot be written: the folder nowhere does not exist");
  expect_mistake("lm generate --model nowhere -p x --save-memory nowhere/x.mem", "nowhere/x.mem: cannot be");
  expect_mistake("nvs photos -o '" + folder / "file" + "'", "file is not a folder");
  expect_mistake("bench machine --record '" + folder / "file/results.json" + "'", "cannot be created");
}

}  // namespace
}  // namespace lact::cli
