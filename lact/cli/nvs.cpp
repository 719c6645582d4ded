// `lact nvs`: the verbs of novel view synthesis.
#include "lact/cli/nvs.h"

#include <CLI/CLI.hpp>

#include "lact/cli/verbs.h"

namespace lact::cli {

void add_nvs(CLI::App& program, int& exit_code) {
  auto* task = program.add_subcommand("nvs", "Novel view synthesis: train, reconstruct, render, view");
  task->require_subcommand(0, 1);
  show_help_when_alone(*task);
  task->fallthrough();
  add_nvs_train(*task, exit_code);
}

}  // namespace lact::cli
