// `lact nvs export`: a model as a folder of its own, half as large, to be handed on.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <iostream>

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/cli/nvs.h"
#include "lact/models/nvs/folder.h"

namespace lact::cli {

namespace {

struct NvsExportWords {
  std::string model, type = "bf16", output;
};

void run_nvs_export(const NvsExportWords& words) {
  namespace fs = std::filesystem;
  LACT_CHECK(!fs::exists(fs::path(words.output) / "config.json"),
             "{}: holds a model already, expected a new folder", words.output);
  const auto model = models::load_nvs(words.model);
  models::save_nvs(words.output, *model, words.type == "bf16" ? at::kBFloat16 : at::kFloat,
                   models::read_nvs_training(words.model));
  uintmax_t bytes = 0;
  for (const auto& file : fs::directory_iterator(words.output)) bytes += file.file_size();
  std::cout << fmt::format("{}: {} as {}\n", words.output, format_bytes(double(bytes)), words.type);
}

}  // namespace

void add_nvs_export(CLI::App& task) {
  const auto words = std::make_shared<NvsExportWords>();
  auto* verb = task.add_subcommand("export", "Write a model's weights to a folder of their own");
  verb->footer(
      "Example: lact nvs export run -o weights\n"
      "         lact nvs export checkpoint.pt --type f32 -o model\n"
      "Checkpoints, samples and records of the training stay behind.");
  verb->add_option("MODEL", words->model, "Folder of a model or a run, or a checkpoint file")->required();
  verb->add_option("-o,--output", words->output, "Folder to write")->required();
  verb->add_option("--type", words->type, "Of the numbers: bf16 or f32")
      ->check(CLI::IsMember({"bf16", "f32"}))
      ->capture_default_str();
  verb->callback([words] { run_nvs_export(*words); });
}

}  // namespace lact::cli
