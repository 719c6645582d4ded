// The verbs of `lact nvs`, one file each, and what they share.
#pragma once

#include <string>

#include "lact/data/views/select.h"
#include "lact/tasks/nvs/load.h"

namespace CLI {
class App;
}

namespace lact::cli {

void add_nvs_train(CLI::App& task, int& exit_code);
void add_nvs_fit(CLI::App& task, int& exit_code);
void add_nvs_splat(CLI::App& task, int& exit_code);
void add_nvs_eval(CLI::App& task);
void add_nvs_export(CLI::App& task);
void add_nvs_photos(CLI::App& task);
void add_nvs_reconstruct(CLI::App& task);
void add_nvs_render(CLI::App& task, int& exit_code);
void add_nvs_view(CLI::App& task, int& exit_code);

/// Which model to run, and how.
struct NvsArguments {
  std::string model;
  tasks::nvs::LoadOptions load;
};
void add_nvs_options(CLI::App& verb, NvsArguments& arguments);

/// "256" is a square, "256x384" height and width. `option` is for errors.
io::ImageSize parse_view_size(const std::string& text, const std::string& option);

/// As `word` says, or what the model was trained on.
io::ImageSize view_size_for(const std::string& word, const tasks::nvs::Loaded& nvs);
data::FrameChoice frame_for(const std::string& word, const tasks::nvs::Loaded& nvs);

/// --selection
void add_selection_option(CLI::App& verb, data::ViewChoice& selection);

}  // namespace lact::cli
