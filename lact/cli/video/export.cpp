// `lact video export`: a video model as a folder of its own, half as large, to be handed on.
#include <CLI/CLI.hpp>

#include <filesystem>

#include "lact/cli/model_export.h"
#include "lact/cli/outputs.h"
#include "lact/cli/video/video.h"
#include "lact/models/video/folder.h"

namespace lact::cli {

namespace {

void run_video_export(const ModelExport& words) {
  namespace fs = std::filesystem;
  // All parts, so that a folder is handed on only if it works.
  const tasks::video::VideoParts parts = tasks::video::load_video_parts(words.model);
  export_model_folder(words, [&](c10::ScalarType type) {
    fs::create_directories(words.output);
    for (const char* part : {"codec", "text"})
      fs::copy(fs::path(words.model) / part, fs::path(words.output) / part,
               fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    models::save_video(words.output, *parts.model, type, models::read_video_notes(words.model));
  });
}

}  // namespace

void add_video_export(CLI::App& task) {
  const auto words = std::make_shared<ModelExport>();
  auto* verb = task.add_subcommand("export", "Write a model's weights to a folder of their own");
  verb->footer(
      "Example: lact video export run -o weights\n"
      "         lact video export run --type f32 -o model\n"
      "The codec and the text encoder are copied as they are. Checkpoints, samples and records of the "
      "training stay behind.");
  verb->add_option("MODEL", words->model, "Folder of a model or a run")->required();
  verb->add_option("-o,--output", words->output, "Folder to write")->check(output_folder())->required();
  add_export_type(*verb, *words);
  verb->callback([words] { run_video_export(*words); });
}

}  // namespace lact::cli
