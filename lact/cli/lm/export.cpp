// `lact lm export`: a model with its tokenizer as a folder of its own, half as large, to be handed on.
#include <CLI/CLI.hpp>

#include <filesystem>

#include "lact/cli/lm/lm.h"
#include "lact/cli/model_export.h"
#include "lact/cli/outputs.h"
#include "lact/models/lm/folder.h"

namespace lact::cli {

namespace {

void run_lm_export(const ModelExport& words) {
  namespace fs = std::filesystem;
  const auto model = models::load_lm(words.model);
  export_model_folder(words, [&](c10::ScalarType type) {
    models::save_lm(words.output, *model, type);
    const fs::path tokenizer = fs::path(words.model) / "tokenizer.model";
    if (fs::exists(tokenizer)) fs::copy_file(tokenizer, fs::path(words.output) / "tokenizer.model");
  });
}

}  // namespace

void add_lm_export(CLI::App& task) {
  const auto words = std::make_shared<ModelExport>();
  auto* verb = task.add_subcommand("export", "Write a model's weights to a folder of their own");
  verb->footer(
      "Example: lact lm export run -o weights\n"
      "         lact lm export run --type f32 -o model\n"
      "The tokenizer comes along; checkpoints and records of the training stay behind.");
  verb->add_option("MODEL", words->model, "Folder of a model or a run")->required();
  verb->add_option("-o,--output", words->output, "Folder to write")->check(output_folder())->required();
  add_export_type(*verb, *words);
  verb->callback([words] { run_lm_export(*words); });
}

}  // namespace lact::cli
