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

void add_golden(CLI::App& program, int& exit_code);
void add_info(CLI::App& program, int& exit_code);
void add_lm(CLI::App& program, int& exit_code);
void add_mask(CLI::App& program, int& exit_code);

inline std::vector<AddVerb> verbs() { return {add_lm, add_info, add_mask, add_golden}; }

/// Versions, BLAS, processor and threads, one per line.
std::string version_text();

}  // namespace lact::cli
