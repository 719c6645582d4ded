// The verbs of the program, one file each. A verb turns words into options and calls one function.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lact::cli {

/// Adds a subcommand to the program. Its callback may set the exit code; mistakes are thrown as lact::Error.
using AddVerb = std::function<void(CLI::App& program, int& exit_code)>;

void add_bench(CLI::App& program, int& exit_code);
void add_golden(CLI::App& program, int& exit_code);
void add_info(CLI::App& program, int& exit_code);
void add_launch(CLI::App& program, int& exit_code);
void add_lm(CLI::App& program, int& exit_code);
void add_mask(CLI::App& program, int& exit_code);
void add_nvs(CLI::App& program, int& exit_code);
void add_plan(CLI::App& program, int& exit_code);
void add_report(CLI::App& program, int& exit_code);
void add_reproduce(CLI::App& program, int& exit_code);
void add_video(CLI::App& program, int& exit_code);

inline std::vector<AddVerb> verbs() {
  return {add_lm,   add_nvs,    add_video, add_report, add_info,     add_plan,
          add_mask, add_launch, add_bench, add_golden, add_reproduce};
}

/// A group of verbs named without one of them prints what there is.
void show_help_when_alone(CLI::App& group);

/// Throws if an option was given whose group of the help page does not name `word`: it would be ignored.
/// Options of the page's first group always count.
void check_option_groups(const CLI::App& verb, const std::string& word);

/// The exit code of work that a signal ended early, as shells give it.
inline constexpr int kExitInterrupted = 130;

/// Versions, BLAS, processor and threads, one per line.
std::string version_text();

}  // namespace lact::cli
