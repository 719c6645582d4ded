#include "lact/cli/program.h"

#include <iostream>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/one_sentence.h"
#include "lact/base/threads.h"
#include "lact/cli/device.h"
#include "lact/cli/help_text.h"
#include "lact/cli/numbers.h"
#include "lact/cli/standard_streams.h"
#include "lact/ops/dispatch/device.h"
#include "lact/ops/dispatch/paths.h"

namespace lact::cli {

namespace {

constexpr int kExitFailure = 1, kExitMistake = 2;

void set_up(const ProgramOptions& options) {
  log::set_quiet(options.quiet);
  use_threads(options.threads);
  ops::set_fused_paths(!options.reference);
  ops::set_compute_device(device_named(options.device));
  if (blas_is_reference()) {
    log::warn(
        "running on the reference BLAS, which is about 50 times slower than OpenBLAS; install "
        "libopenblas0-openmp");
  }
}

/// Reads the words and runs the verb they name.
void parse(CLI::App& app, const ProgramOptions& options, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
    if (options.version) {
      std::cout << version_text();
    } else if (app.get_subcommands().empty()) {
      std::cout << app.help();
    }
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
  } catch (const CLI::CallForAllHelp&) {
    std::cout << app.help("", CLI::AppFormatMode::All);
  }
}

int run(int argc, const char* const* argv, const std::vector<AddVerb>& verbs) {
  ProgramOptions options;
  int exit_code = 0;
  try {
    const auto app = make_program(options, exit_code, verbs);
    parse(*app, options, argc, argv);
    return exit_code;
  } catch (const CLI::ParseError& error) {
    log::error("{}", error.what());
    return kExitMistake;
  } catch (const std::ios_base::failure& error) {
    if (!std::cout.good()) throw;  // with_checked_output() speaks of that
    log::error("{}", one_sentence(error));
  } catch (const std::exception& error) {
    log::error("{}", one_sentence(error));
    if (options.debug) std::cerr << error.what() << "\n";
    if (is_callers_mistake(error)) return kExitMistake;
  } catch (...) {
    log::error("something was thrown that says nothing about itself");
  }
  return kExitFailure;
}

}  // namespace

std::unique_ptr<CLI::App> make_program(ProgramOptions& options, int& exit_code,
                                       const std::vector<AddVerb>& verbs) {
  auto app = std::make_unique<CLI::App>("lact: large-chunk test-time training for text, image sets and video",
                                        "lact");
  app->formatter(std::make_shared<HelpFormatter>());
  app->set_help_all_flag("--help-all", "Help for every verb");
  app->require_subcommand(0, 1);
  app->fallthrough();
  add_number(*app, "--threads", options.threads,
             "Processor cores to use; 0 is all of them, or OMP_NUM_THREADS",
             Limits{0, double(most_threads())});
  app->add_option("--device", options.device, "Where models compute: cpu, cuda, cuda:N or mps")
      ->capture_default_str();
  app->add_flag("-q,--quiet", options.quiet, "No progress messages, only results and errors");
  app->add_flag("--reference", options.reference,
                "Plain operations only, none of the fast paths: slower, for comparison");
  app->add_flag("--debug", options.debug, "After an error, also print where in the libraries it came from");
  app->add_flag("--version", options.version,
                "Print the versions of lact, LibTorch and the libraries it runs on");
  for (const auto& add_verb : verbs) add_verb(*app, exit_code);
  // Options are read first and verbs run afterwards, so that a verb never sees half of the command line.
  app->parse_complete_callback([&options] { set_up(options); });
  return app;
}

int run_program(int argc, const char* const* argv, const std::vector<AddVerb>& verbs) {
  return with_checked_output([&] { return run(argc, argv, verbs); });
}

}  // namespace lact::cli
