// `lact video export`: a video model as a folder of its own, half as large, to be handed on.
#include <CLI/CLI.hpp>

#include <filesystem>

#include "lact/cli/export_model.h"
#include "lact/cli/outputs.h"
#include "lact/cli/video/video.h"
#include "lact/models/video/folder.h"

namespace lact::cli {

namespace {

void run_video_export(const ExportArguments& arguments) {
  namespace fs = std::filesystem;
  check_export_is_new(arguments);
  // All parts, so that a folder is handed on only if it works.
  const tasks::video::VideoParts parts = tasks::video::load_video_parts(arguments.model);
  fs::create_directories(arguments.output);
  for (const char* part : {"codec", "text"})
    fs::copy(fs::path(arguments.model) / part, fs::path(arguments.output) / part,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  models::save_video(arguments.output, *parts.model, arguments.scalar_type(),
                     models::read_video_notes(arguments.model));
  print_exported(arguments);
}

}  // namespace

void add_video_export(CLI::App& task) {
  const auto arguments = std::make_shared<ExportArguments>();
  auto* verb = task.add_subcommand("export", "Write a model's weights to a folder of their own");
  verb->footer(
      "Example: lact video export run -o weights\n"
      "         lact video export run --type f32 -o model\n"
      "The codec and the text encoder are copied as they are. Checkpoints, samples and records of the "
      "training stay behind.");
  verb->add_option("MODEL", arguments->model, "Folder of a model or a run")->required();
  verb->add_option("-o,--output", arguments->output, "Folder to write")->check(output_folder())->required();
  add_export_type(*verb, *arguments);
  verb->callback([arguments] { run_video_export(*arguments); });
}

}  // namespace lact::cli
