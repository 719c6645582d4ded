// `lact video`: the verbs of video diffusion.
#include "lact/cli/video/video.h"

#include <CLI/CLI.hpp>

#include "lact/cli/fields.h"
#include "lact/cli/verbs.h"

namespace lact::cli {

void add_video_options(CLI::App& verb, VideoArguments& arguments) {
  verb.add_option("-m,--model", arguments.model, "Model folder; by default the weights that come with lact");
  add_fields(verb, arguments.load);
}

void add_video(CLI::App& program, int& exit_code) {
  auto* task = program.add_subcommand(
      "video", "Video diffusion: from a text to a video of any length, chunk after chunk");
  task->require_subcommand(0, 1);
  show_help_when_alone(*task);
  task->fallthrough();
  add_video_train(*task, exit_code);
  add_video_train_codec(*task, exit_code);
  add_video_generate(*task, exit_code);
  add_video_eval(*task);
  add_video_export(*task);
}

}  // namespace lact::cli
