// `lact lm`: the verbs of the language model.
#include <CLI/CLI.hpp>

#include "lact/cli/fields.h"
#include "lact/cli/lm/lm.h"
#include "lact/cli/verbs.h"

namespace lact::cli {

void add_lm_options(CLI::App& verb, LmArguments& arguments) {
  verb.add_option("-m,--model", arguments.model,
                  "Model folder; by default the weights that come with the program");
  add_fields(verb, arguments.load);
}

tasks::lm::Loaded load_lm(const std::string& folder, const tasks::lm::LoadOptions& options,
                          bool with_fingerprint) {
  tasks::lm::Loaded loaded = tasks::lm::load(folder, options, with_fingerprint);
  models::warn_of_unseen_tokens(loaded.model->config(), loaded.path);
  return loaded;
}

void add_lm(CLI::App& program, int& exit_code) {
  auto* task = program.add_subcommand("lm", "Language models: train, evaluate, generate, remember");
  task->require_subcommand(0, 1);
  show_help_when_alone(*task);
  task->fallthrough();
  add_lm_train(*task, exit_code);
  add_lm_eval(*task);
  add_lm_generate(*task);
  add_lm_ingest(*task);
  add_lm_serve(*task, exit_code);
  add_lm_score(*task);
  add_lm_tokenizer(*task);
  add_lm_text(*task);
  add_lm_export(*task);
  add_lm_demo(*task);
}

}  // namespace lact::cli
