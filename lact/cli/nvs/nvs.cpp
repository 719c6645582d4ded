// `lact nvs`: the verbs of view synthesis, and the words that several of them read.
#include "lact/cli/nvs/nvs.h"

#include <CLI/CLI.hpp>

#include "lact/base/error.h"
#include "lact/base/options.h"
#include "lact/cli/fields.h"
#include "lact/cli/verbs.h"

namespace lact::cli {

void add_nvs(CLI::App& program, int& exit_code) {
  auto* task = program.add_subcommand(
      "nvs", "View synthesis: from photos with cameras to a scene you can fly through");
  task->require_subcommand(0, 1);
  show_help_when_alone(*task);
  task->fallthrough();
  add_nvs_photos(*task);
  add_nvs_reconstruct(*task);
  add_nvs_render(*task, exit_code);
  add_nvs_view(*task, exit_code);
  add_nvs_train(*task, exit_code);
  add_nvs_fit(*task, exit_code);
  add_nvs_splat(*task, exit_code);
  add_nvs_eval(*task);
  add_nvs_export(*task);
}

void add_nvs_options(CLI::App& verb, NvsArguments& arguments) {
  verb.add_option("-m,--model", arguments.model,
                  "Model folder or checkpoint file; by default the weights that come with lact");
  add_fields(verb, arguments.load);
}

io::ImageSize parse_view_size(const std::string& text, const std::string& option) {
  try {
    return io::ImageSize::parse(text);
  } catch (const Error& error) {
    fail("{}: {}", option, error.what());
  }
}

io::ImageSize view_size_for(const std::string& word, const tasks::nvs::Loaded& nvs) {
  return word.empty() ? tasks::nvs::trained_size(nvs) : parse_view_size(word, "--size");
}

data::FrameChoice frame_for(const std::string& word, const tasks::nvs::Loaded& nvs) {
  if (word.empty()) return tasks::nvs::trained_frame(nvs);
  data::FrameChoice choice{};
  options::read(options::Json(word), choice, "frame");
  return choice;
}

void add_selection_option(CLI::App& verb, data::ViewChoice& selection) {
  static const std::map<std::string, data::ViewChoice> choices = {{"kmeans", data::ViewChoice::kmeans},
                                                                  {"every", data::ViewChoice::every_nth},
                                                                  {"random", data::ViewChoice::random}};
  verb.add_option("--selection", selection,
                  "Which views are read: kmeans (spread over places and directions), every (n-th) or random")
      ->transform(CLI::CheckedTransformer(choices).description(""))
      ->default_str("kmeans");
}

}  // namespace lact::cli
