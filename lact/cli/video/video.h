// The verbs of `lact video`, one file each, and what they share.
#pragma once

#include <string>

#include "lact/tasks/video/load.h"

namespace CLI {
class App;
}

namespace lact::tasks::video {
struct ClipsOptions;
}

namespace lact::cli {

void add_video_eval(CLI::App& task);
void add_video_export(CLI::App& task);
void add_video_generate(CLI::App& task, int& exit_code);
void add_video_train(CLI::App& task, int& exit_code);
void add_video_train_codec(CLI::App& task, int& exit_code);

/// --clips and what else says which clips are watched; their length and size are the verb's business.
void add_clip_fields(CLI::App& verb, tasks::video::ClipsOptions& clips);
/// Throws a sentence for an option that would be ignored.
void check_clip_fields(const CLI::App& verb, const tasks::video::ClipsOptions& clips);

/// Which model to run, and how.
struct VideoArguments {
  std::string model;
  tasks::video::LoadOptions load;
};
void add_video_options(CLI::App& verb, VideoArguments& arguments);

}  // namespace lact::cli
