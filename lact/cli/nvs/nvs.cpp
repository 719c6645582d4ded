// `lact nvs`: the verbs of view synthesis.
#include "lact/cli/nvs/nvs.h"

#include <CLI/CLI.hpp>

#include "lact/cli/verbs.h"

namespace lact::cli {

void add_nvs(CLI::App& program, int& exit_code) {
  auto* task = program.add_subcommand(
      "nvs", "View synthesis: from photos with cameras to a scene you can fly through");
  task->require_subcommand(0, 1);
  show_help_when_alone(*task);
  task->fallthrough();
  add_nvs_photos(*task);
  add_nvs_reconstruct(*task);
  add_nvs_render(*task, exit_code);
  add_nvs_view(*task, exit_code);
  add_nvs_train(*task, exit_code);
  add_nvs_eval(*task);
  add_nvs_export(*task);
}

}  // namespace lact::cli
