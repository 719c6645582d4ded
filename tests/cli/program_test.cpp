// The program's frame: help, versions, threads, mistakes.
#include <nlohmann/json.hpp>

#include <sstream>

#include <fmt/format.h>
#include "support/program.h"

#include "lact/base/threads.h"
#include "lact/kernels/isa.h"

namespace lact {
namespace {

using lact::testing::expect_mistake;
using lact::testing::run_program;
using ::testing::HasSubstr;

TEST(Program, WithoutArgumentsItShowsItsVerbs) {
  for (const char* arguments : {"", "--help"}) {
    const auto outcome = run_program(arguments);
    EXPECT_EQ(outcome.exit_code, 0);
    for (const char* verb : {"info", "mask", "golden"}) EXPECT_THAT(outcome.out, HasSubstr(verb));
    EXPECT_EQ(outcome.err, "");
  }
}

TEST(Program, EveryVerbHasHelpWithAnExample) {
  for (const std::string verb : {"info", "mask", "golden"}) {
    const auto outcome = run_program(verb + " --help");
    EXPECT_EQ(outcome.exit_code, 0) << verb;
    EXPECT_THAT(outcome.out, HasSubstr("Example: lact " + verb)) << verb;
  }
}

TEST(Program, VersionNamesEverythingItRunsOn) {
  const auto outcome = run_program("--version");
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* part : {"lact " LACT_VERSION, "LibTorch", "BLAS", "CPU", "threads"}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
}

TEST(Program, VersionNamesTheInstructionsThatTheKernelsUse) {
  const std::string best(kernels::isa_name(kernels::best_isa()));
  EXPECT_THAT(run_program("--version", "env -u LACT_ISA").out, HasSubstr("CPU: kernels for " + best + "\n"));
  if (best == "generic") return;
  EXPECT_THAT(run_program("--version", "LACT_ISA=generic").out,
              HasSubstr("CPU: kernels for generic, by LACT_ISA; this one has " + best + "\n"));
}

TEST(Program, OpenBlasIsToldWhatProcessorThisIs) {
  const std::string known = run_program("--version", "env -u OPENBLAS_CORETYPE").out;
  if (known.find("OpenBLAS") == std::string::npos) GTEST_SKIP() << "another BLAS";
  // Kernels of twenty years ago are what it takes for a processor that it does not know.
  if (kernels::best_isa() > kernels::Isa::generic) {
    EXPECT_THAT(known, ::testing::Not(HasSubstr("Prescott")));
  }
  EXPECT_THAT(run_program("--version", "OPENBLAS_CORETYPE=Prescott").out, HasSubstr(", Prescott\n"));
}

TEST(Program, UsesAllCoresUnlessToldOtherwise) {
  const std::string all = fmt::format("threads: {}\n", available_cores());
  EXPECT_THAT(run_program("--version", "env -u OMP_NUM_THREADS").out, HasSubstr(all));
  EXPECT_THAT(run_program("--version --threads 1").out, HasSubstr("threads: 1\n"));
  for (const char* one : {"1", "1,2"}) {
    EXPECT_THAT(run_program("--version", std::string("OMP_NUM_THREADS=") + one).out,
                HasSubstr("threads: 1\n"));
  }
  EXPECT_THAT(run_program("--version --threads 2", "OMP_NUM_THREADS=1").out, HasSubstr("threads: 2\n"));
  EXPECT_THAT(run_program("--version", "OMP_NUM_THREADS=many").out, HasSubstr(all));
}

TEST(Program, WarnsOnTheReferenceBlas) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer must be the first library, so no BLAS can be put before it";
#endif
  const std::string reference = "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3";
  if (!std::filesystem::exists(reference)) GTEST_SKIP() << "no reference BLAS at " << reference;
  const auto outcome = run_program("--version", "LD_PRELOAD=" + reference);
  EXPECT_THAT(outcome.out, HasSubstr("BLAS: reference BLAS"));
  EXPECT_THAT(outcome.err, HasSubstr("warning: running on the reference BLAS"));
  EXPECT_THAT(run_program("--version").err, "");
}

TEST(Program, MistakesAreOneSentenceAndExitCodeTwo) {
  expect_mistake("nonsense", "nonsense");
  expect_mistake("mask --nonsense", "--nonsense");
  expect_mistake("golden /nowhere", "/nowhere: no such file or folder");
  expect_mistake("--threads -3 --version", "threads");
  expect_mistake("--threads many --version", "threads");
  expect_mistake("--threads 2147483647 --version", "--threads: 2147483647 is out of range, expected 0 to");
}

TEST(Program, GoldenPrintsATableAndFailsOnAWrongNumber) {
  // Without a folder: the cases that come with the program.
  const auto outcome = run_program("golden --filter newton_schulz");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("case"));
  EXPECT_THAT(outcome.out, HasSubstr("newton_schulz_fixed5_wide"));
  EXPECT_THAT(outcome.out, HasSubstr(" passed, 0 failed\n"));

  const lact::testing::TemporaryFolder folder;
  lact::testing::write_file(folder / "x.json", R"({"case": "x", "kind": "mystery", "options": {}})");
  lact::testing::write_file(folder / "x.safetensors", std::string("\x02\0\0\0\0\0\0\0{}", 10));
  const auto unknown = run_program("golden '" + folder / "" + "'");
  EXPECT_EQ(unknown.exit_code, 0);
  EXPECT_THAT(unknown.out, HasSubstr("not computed by this build: mystery"));
  EXPECT_THAT(unknown.out, HasSubstr("0 passed, 0 failed, 1 not computed by this build\n"));

  lact::testing::write_file(folder / "x.json", R"({"case": "x", "kind": "newton_schulz", "options": {}})");
  const auto wrong = run_program("golden '" + folder / "" + "'");
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.out, HasSubstr("0 passed, 2 failed\n"));
  const auto json = run_program("golden --json '" + folder / "" + "'");
  EXPECT_EQ(json.exit_code, 1);
  EXPECT_FALSE(nlohmann::json::parse(json.out).at(0).at("passed").get<bool>());
}

TEST(Program, DescriptionsOfOptionsFitTheTerminal) {
  std::istringstream help(run_program("nvs reconstruct --help").out);
  size_t options = 0;
  for (std::string line; std::getline(help, line);) {
    if (!line.starts_with("  ")) continue;
    EXPECT_LE(line.size(), 80U) << line;
    ++options;
  }
  EXPECT_GT(options, 20U);
}

}  // namespace
}  // namespace lact
