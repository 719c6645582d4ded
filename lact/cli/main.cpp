// `lact <verb>`: parses the command line, sets up threads, and turns a mistake into one sentence and exit
// code 2.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/threads.h"
#include "lact/cli/help_text.h"
#include "lact/cli/verbs.h"
#include "lact/ops/dispatch/paths.h"

namespace {

/// OpenBLAS reads the environment before main: only a new start can tell it what processor this is.
void restart_for_openblas(char** argv) {
  const std::string core = lact::openblas_core_to_name();
  if (core.empty()) return;
  setenv("OPENBLAS_CORETYPE", core.c_str(), /*overwrite=*/1);
  execv("/proc/self/exe", argv);  // comes back only if that is impossible, which does no harm
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"lact: large-chunk test-time training for text, image sets and video", "lact"};
  app.formatter(std::make_shared<lact::cli::HelpFormatter>());
  app.set_help_all_flag("--help-all", "Help for every verb");
  app.require_subcommand(0, 1);
  app.fallthrough();

  int threads = 0;
  bool quiet = false, version = false, reference = false;
  app.add_option("--threads", threads, "Processor cores to use; 0 is all of them")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("-q,--quiet", quiet, "No progress messages, only results and errors");
  app.add_flag("--reference", reference,
               "Plain operations only, none of the fast paths: slower, for comparison");
  app.add_flag("--version", version, "Print the versions of lact, LibTorch and the libraries it runs on");

  int exit_code = 0;
  for (const auto& add_verb : lact::cli::verbs()) add_verb(app, exit_code);

  // Options are read first and verbs run afterwards, so that a verb never sees half of the command line.
  try {
    app.parse_complete_callback([&] {
      if (!app.get_subcommands().empty()) restart_for_openblas(argv);
      lact::log::set_quiet(quiet);
      lact::use_threads(threads);
      lact::ops::set_fused_paths(!reference);
      if (lact::blas_is_reference()) {
        lact::log::warn(
            "running on the reference BLAS, which is about 50 times slower than OpenBLAS; install "
            "libopenblas0-openmp");
      }
    });
    app.parse(argc, argv);
    if (version) {
      std::cout << lact::cli::version_text();
    } else if (app.get_subcommands().empty()) {
      std::cout << app.help();
    }
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
  } catch (const CLI::CallForAllHelp&) {
    std::cout << app.help("", CLI::AppFormatMode::All);
  } catch (const CLI::ParseError& error) {
    lact::log::error("{}", error.what());
    return 2;
  } catch (const std::exception& error) {
    lact::log::error("{}", error.what());
    return 2;
  }
  return exit_code;
}
