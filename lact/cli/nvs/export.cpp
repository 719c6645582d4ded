// `lact nvs export`: a model as a folder of its own, half as large, to be handed on.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <iostream>

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/cli/nvs/nvs.h"
#include "lact/cli/outputs.h"
#include "lact/models/nvs/folder.h"

namespace lact::cli {

namespace {

struct NvsExportArguments {
  std::string model, type = "bf16", output;
};

void run_nvs_export(const NvsExportArguments& arguments) {
  namespace fs = std::filesystem;
  LACT_CHECK(!fs::exists(fs::path(arguments.output) / "config.json"),
             "{}: holds a model already, expected a new folder", arguments.output);
  const auto model = models::load_nvs(arguments.model);
  models::save_nvs(arguments.output, *model, arguments.type == "bf16" ? at::kBFloat16 : at::kFloat,
                   models::read_nvs_training(arguments.model));
  uintmax_t bytes = 0;
  for (const auto& file : fs::directory_iterator(arguments.output)) bytes += file.file_size();
  std::cout << fmt::format("{}: {} as {}\n", arguments.output, format_bytes(double(bytes)), arguments.type);
}

}  // namespace

void add_nvs_export(CLI::App& task) {
  const auto arguments = std::make_shared<NvsExportArguments>();
  auto* verb = task.add_subcommand("export", "Write a model's weights to a folder of their own");
  verb->footer(
      "Example: lact nvs export run -o weights\n"
      "         lact nvs export checkpoint.pt --type f32 -o model\n"
      "Checkpoints, samples and records of the training stay behind.");
  verb->add_option("MODEL", arguments->model, "Folder of a model or a run, or a checkpoint file")->required();
  verb->add_option("-o,--output", arguments->output, "Folder to write")->check(output_folder())->required();
  verb->add_option("--type", arguments->type, "Of the numbers: bf16 or f32")
      ->check(CLI::IsMember({"bf16", "f32"}))
      ->capture_default_str();
  verb->callback([arguments] { run_nvs_export(*arguments); });
}

}  // namespace lact::cli
