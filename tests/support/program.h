// Runs the program as a user does.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "support/places.h"
#include "support/temporary_folder.h"

namespace lact::testing {

struct Outcome {
  int exit_code;
  std::string out, err;
};

/// `lact <arguments>`, through a shell; `environment` is put before it, like "OMP_NUM_THREADS=1".
inline Outcome run_program(const std::string& arguments, const std::string& environment = "") {
  const TemporaryFolder folder;
  const std::string command = environment + " '" + program_file() + "' " + arguments + " >'" +
                              folder / "out" + "' 2>'" + folder / "err" + "'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(folder / "out"), read_file(folder / "err")};
}

/// The same, with Ctrl-C as soon as a condition of the shell holds, such as "grep -q ready $err".
inline Outcome interrupt_program(const std::string& arguments, const std::string& condition,
                                 const std::string& environment = "") {
  const TemporaryFolder folder;
  write_file(folder / "run.sh", "out='" + folder / "out" + "' err='" + folder / "err" + "'\n" + environment +
                                    " '" + program_file() + "' " + arguments +
                                    " >\"$out\" 2>\"$err\" & pid=$!\n"
                                    "until " +
                                    condition +
                                    "; do kill -0 $pid || break; sleep 0.05; done\n"
                                    "kill -INT $pid; wait $pid\n");
  const int status = std::system(("timeout 120 bash '" + folder / "run.sh" + "'").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(folder / "out"), read_file(folder / "err")};
}

/// Exit code 2, nothing on stdout, and one error on stderr that contains `sentence`; before it at most
/// messages and warnings of a line each.
inline void expect_mistake(const std::string& arguments, const std::string& sentence) {
  const Outcome outcome = run_program(arguments);
  EXPECT_EQ(outcome.exit_code, 2) << arguments;
  EXPECT_EQ(outcome.out, "") << arguments;
  const size_t last = outcome.err.rfind("lact: error: ");
  ASSERT_NE(last, std::string::npos) << arguments << "\n" << outcome.err;
  EXPECT_EQ(outcome.err.find("lact: error: "), last) << outcome.err;
  const std::string error = outcome.err.substr(last);
  EXPECT_THAT(error, ::testing::HasSubstr(sentence)) << arguments;
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1) << outcome.err;
}

}  // namespace lact::testing
