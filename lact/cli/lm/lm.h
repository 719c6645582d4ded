// The verbs of `lact lm`, one file each, and what they share.
#pragma once

#include <string>

#include "lact/tasks/lm/load.h"

namespace CLI {
class App;
}

namespace lact::cli {

void add_lm_train(CLI::App& task, int& exit_code);
void add_lm_eval(CLI::App& task);
void add_lm_generate(CLI::App& task);
void add_lm_ingest(CLI::App& task);
void add_lm_serve(CLI::App& task, int& exit_code);
void add_lm_score(CLI::App& task);
void add_lm_tokenizer(CLI::App& task);
void add_lm_text(CLI::App& task);
void add_lm_demo(CLI::App& task);
void add_lm_export(CLI::App& task);

/// Which model to run, and how.
struct LmArguments {
  std::string model;
  tasks::lm::LoadOptions load;
};
/// --model and how it is loaded.
void add_lm_options(CLI::App& verb, LmArguments& arguments);

/// tasks::lm::load, the shipped weights where `folder` is "", and a warning of what such a model does not
/// see.
tasks::lm::Loaded load_lm(const std::string& folder, const tasks::lm::LoadOptions& options,
                          bool with_fingerprint = false);

}  // namespace lact::cli
