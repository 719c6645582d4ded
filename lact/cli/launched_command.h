// The command that `lact launch` runs several times: the words after its `--`.
#pragma once

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

#include "lact/cli/program.h"

namespace lact::cli {

/// Read like the command line of a process, but without running anything.
class LaunchedCommand {
 public:
  /// Throws what the program would say to these words: nothing has been started then.
  explicit LaunchedCommand(std::vector<std::string> words);

  const std::vector<std::string>& words() const { return words_; }
  bool wants_help() const { return !help_.empty(); }
  const std::string& help() const { return help_; }
  /// Whether an option of the program, such as "--threads", is given.
  bool has(const std::string& option) const { return program_->get_option(option)->count() > 0; }

  /// The words to start it with again after a failure. A training whose folder holds a run by now goes on
  /// with it, from its newest checkpoint or, where it has none yet, from the beginning; all else is done
  /// again.
  std::vector<std::string> words_again() const;

 private:
  const CLI::App* verb() const;  ///< the innermost that the words name

  std::vector<std::string> words_;
  ProgramOptions options_;
  int exit_code_ = 0;
  std::unique_ptr<CLI::App> program_;
  std::string help_;
};

/// The words after the first "--" of this process's own command line; empty without one. The parser would
/// take a word like "[a,b]" apart.
std::vector<std::string> own_words_after_marker();

}  // namespace lact::cli
