// `lact info`: what a model consists of and what a token costs, from its config alone; nothing is built.
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

#include "lact/base/log.h"
#include "lact/cli/info_report.h"
#include "lact/cli/numbers.h"
#include "lact/cli/outputs.h"
#include "lact/cli/verbs.h"
#include "lact/io/atomic_file.h"
#include "lact/models/presets.h"

namespace lact::cli {

namespace {

using models::ModelConfig;
using models::ModelCost;
using options::Json;

struct InfoOptions {
  std::string config, export_file;
  std::vector<std::string> assignments;
  std::optional<int64_t> tokens, views, image_size;
  bool json = false, list = false;
};

ModelCost cost_of(const ModelConfig& config, const models::ViewSet& views = {},
                  const models::TextLength& text = {}) {
  if (const auto* nvs = std::get_if<models::NvsConfig>(&config)) return cost(*nvs, views);
  if (const auto* video = std::get_if<models::VideoConfig>(&config)) return cost(*video);
  return cost(std::get<models::LmConfig>(config), text);
}

void list_presets(bool as_json) {
  Json list = Json::array();
  for (const auto& [name, summary, make] : models::presets()) {
    const ModelConfig config = make();
    const ModelCost cost = cost_of(config);
    if (as_json) {
      list.push_back({{"name", name}, {"summary", summary}, {"parameters", cost.total().parameters}});
    } else {
      std::cout << fmt::format("{:<19}{:>7}  {}: {}\n", name, human(double(cost.total().parameters)),
                               shape_text(config, cost), summary);
    }
  }
  if (as_json) std::cout << list.dump(2) << "\n";
}

void run(const InfoOptions& options) {
  if (options.list) return list_presets(options.json);
  LACT_CHECK(!options.config.empty(),
             "[info] name a preset, a model folder or a config file; --list shows the presets");
  const ModelConfig config = models::resolve_config(options.config, options.assignments);
  if (!options.export_file.empty()) {
    const std::string text = models::config_text(config);
    io::write_file_atomically(options.export_file, [&](io::FileWriter& file) { file.write(text); });
    log::info("wrote {}", options.export_file);
    return;
  }
  LACT_CHECK(task_of(config) == models::Task::nvs || !(options.views || options.image_size),
             "[info] --views and --image-size are for view synthesis, which {} is not", options.config);
  LACT_CHECK(task_of(config) == models::Task::lm || !options.tokens,
             "[info] --tokens is for language models, which {} is not", options.config);
  if (const auto* lm = std::get_if<models::LmConfig>(&config)) {
    models::warn_of_unseen_tokens(*lm, options.config);
  }
  models::ViewSet views;
  views.inputs = options.views.value_or(views.inputs);
  if (options.image_size) views.image_size = {*options.image_size, *options.image_size};
  models::TextLength text;
  text.tokens = options.tokens.value_or(text.tokens);
  const ModelCost cost = cost_of(config, views, text);
  if (options.json) {
    std::cout << info_json(options.config, config, cost).dump(2) << "\n";
  } else {
    std::cout << info_text(options.config, config, cost);
  }
}

}  // namespace

void add_info(CLI::App& program, int& /*exit_code*/) {
  auto* verb = program.add_subcommand("info", "Parameters, state and cost per token of a model");
  verb->footer(
      "Example: lact info lm_760m --set layer.memory.num_heads=2\n"
      "         lact info lm_760m --set mixer='3 lact : 1 full' --tokens 100000\n"
      "         lact info nvs_312m --views 32 --image-size 256 --json\n"
      "         lact info video_1_3b --export configs/video_1_3b.json");
  const auto options = std::make_shared<InfoOptions>();
  verb->add_option(
      "CONFIG", options->config,
      "Name of a preset, a model folder, or a config file: ours, the authors' JSON or YAML, Wan's");
  verb->add_option("--set", options->assignments,
                   "Change a field of the config: name=value; may be given repeatedly")
      ->allow_extra_args(false);
  add_number(*verb, "--tokens", options->tokens,
             "Tokens of a text, which full attention sees (language models)", kFromOne);
  add_number(*verb, "--views", options->views, "Input views that are written at once (view synthesis)",
             kFromOne);
  add_number(*verb, "--image-size", options->image_size, "Side of a view in pixels (view synthesis)",
             Limits{1, 1 << 20});
  verb->add_option("--export", options->export_file, "Write the config to this JSON file instead")
      ->check(output_file());
  verb->add_flag("--json", options->json, "Print for a program to read");
  verb->add_flag("--list", options->list, "List the presets");
  verb->callback([options] { run(*options); });
}

}  // namespace lact::cli
