// `lact nvs export`: a model as a folder of its own, half as large, to be handed on; or Gaussians as another
// file.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <iostream>

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/cli/model_export.h"
#include "lact/cli/nvs/nvs.h"
#include "lact/cli/outputs.h"
#include "lact/io/gaussian_ply.h"
#include "lact/models/nvs/folder.h"

namespace lact::cli {

namespace {

void export_gaussians(const CLI::App& verb, const ModelExport& arguments) {
  LACT_CHECK(verb["--type"]->count() == 0, "{}: --type is for models, not for Gaussians", arguments.model);
  LACT_CHECK(io::has_ply_name(arguments.output),
             "{}: Gaussians are written to a file that ends with .ply, or .compressed.ply", arguments.output);
  const ops::Gaussians gaussians = io::read_gaussians(arguments.model);
  io::write_gaussians(arguments.output, gaussians);
  std::cout << fmt::format("{}: {} Gaussians of degree {}, {}\n", arguments.output, gaussians.size(),
                           gaussians.degree(),
                           format_bytes(double(std::filesystem::file_size(arguments.output))));
}

void run_nvs_export(const CLI::App& verb, const ModelExport& arguments) {
  if (io::has_ply_name(arguments.model)) return export_gaussians(verb, arguments);
  export_model_folder(arguments, [&](c10::ScalarType type) {
    models::save_nvs(arguments.output, *models::load_nvs(arguments.model), type,
                     models::read_nvs_training(arguments.model));
  });
}

}  // namespace

void add_nvs_export(CLI::App& task) {
  const auto arguments = std::make_shared<ModelExport>();
  auto* verb = task.add_subcommand(
      "export", "Write a model's weights to a folder of their own, or Gaussians to another file");
  verb->footer(
      "Example: lact nvs export run -o weights\n"
      "         lact nvs export checkpoint.pt --type f32 -o model\n"
      "         lact nvs export scene.ply -o small.compressed.ply\n"
      "Gaussians are packed where the name ends with .compressed.ply (as by SuperSplat, a quarter of the "
      "bytes), and unpacked\nwhere it does not. Of models, checkpoints, samples and records of the training "
      "stay "
      "behind.");
  verb->add_option("MODEL", arguments->model,
                   "Folder of a model or a run, a checkpoint file, or Gaussians (.ply)")
      ->required();
  verb->add_option("-o,--output", arguments->output, "Folder to write, of Gaussians a .ply file")
      ->check(output_folder_or_ply())
      ->required();
  add_export_type(*verb, *arguments);
  verb->callback([arguments, verb] { run_nvs_export(*verb, *arguments); });
}

}  // namespace lact::cli
