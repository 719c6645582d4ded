// How processes end, and what becomes of them when we do, is in tests/parallel/launcher_test.cpp.
#include "lact/base/started_process.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "support/temporary_folder.h"

namespace lact {
namespace {

using lact::testing::read_file;
using lact::testing::TemporaryFolder;

TEST(StartedProcess, OutputAndComplaintsGoToFilesOfTheirOwn) {
  const TemporaryFolder folder;
  for (const std::string word : {"first", "second"}) {
    StartedProcess process({.program = "/bin/sh",
                            .words = {"sh", "-c", "echo " + word + "; echo $WORD >&2; exit 4"},
                            .variables = {"WORD=complaint"},
                            .log = folder / "log",
                            .output = folder / "output"});
    while (!process.has_ended()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(process.exit_code(), 4);
    EXPECT_EQ(process.last_words(), "complaint");
  }
  EXPECT_EQ(read_file(folder / "output"), "second\n") << "begun anew";
  EXPECT_EQ(read_file(folder / "log"), "complaint\ncomplaint\n") << "appended to";
}

}  // namespace
}  // namespace lact
