// The program as a whole: its options, its verbs, and what becomes of mistakes.
#pragma once

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

#include "lact/cli/verbs.h"

namespace lact::cli {

/// What holds for every verb.
struct ProgramOptions {
  int threads = 0;
  std::string device = "cpu";
  bool quiet = false, version = false, reference = false, debug = false;
};

/// All options and the verbs. A verb runs while the command line is parsed, after all of it has been read,
/// and sets `exit_code`, which must outlive the result like `options`.
std::unique_ptr<CLI::App> make_program(ProgramOptions& options, int& exit_code,
                                       const std::vector<AddVerb>& verbs = cli::verbs());

/// Parses, runs, and returns the exit code: 0; 1 for a failure of ours or results that were lost; 2 for
/// a mistake of the caller; 130 for an interrupt. Whatever goes wrong is one sentence on stderr.
int run_program(int argc, const char* const* argv, const std::vector<AddVerb>& verbs = cli::verbs());

}  // namespace lact::cli
