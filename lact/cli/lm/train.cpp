#include <filesystem>

#include "lact/cli/fields.h"
#include "lact/cli/lm/lm.h"
#include "lact/cli/numbers.h"
#include "lact/cli/train_verb.h"
#include "lact/cli/verbs.h"
#include "lact/models/lm/folder.h"
#include "lact/models/presets.h"
#include "lact/tasks/lm/training/run.h"

namespace lact::cli {

namespace {

struct TrainArguments {
  std::string config = "lm_tiny";
  std::vector<std::string> assignments;
  TrainPlace place;
  tasks::lm::Run run;
};

/// That of --init, or the preset or file, with its changes; the vocabulary of a new model is the tokenizer's
/// unless it was set.
models::LmConfig model_config(const TrainArguments& arguments) {
  const std::string& initial = arguments.place.initial_model;
  if (!initial.empty()) return changed(models::read_lm_config(initial), arguments.assignments);
  const auto config = models::resolve_config(arguments.config, arguments.assignments);
  LACT_CHECK(task_of(config) == models::Task::lm, "[train] {} is not a language model", arguments.config);
  auto model = std::get<models::LmConfig>(config);
  const bool chosen =
      std::any_of(arguments.assignments.begin(), arguments.assignments.end(),
                  [](const std::string& text) { return text.starts_with("vocabulary_size="); });
  if (!chosen) model.vocabulary_size = data::read_tokenizer(arguments.run.data.tokenizer)->vocabulary_size();
  return model;
}

void settle_run(const CLI::App& verb, TrainArguments& arguments) {
  // Nothing that is given may be ignored.
  const auto& data = arguments.run.data;
  check_option_groups(verb, data.data.empty() ? options::write(data.text).get<std::string>() : "Text files");
  check_no_config(verb, arguments.place);
  const auto own_tokenizer = std::filesystem::path(arguments.place.initial_model) / "tokenizer.model";
  const bool chosen = verb.get_option("--tokenizer")->count() > 0;
  if (!arguments.place.initial_model.empty() && !chosen && std::filesystem::exists(own_tokenizer)) {
    arguments.run.data.tokenizer = own_tokenizer.string();
  }
  arguments.run.model = model_config(arguments);
  const auto& initial = arguments.place.initial_model;
  models::warn_of_unseen_tokens(arguments.run.model, initial.empty() ? arguments.config : initial);
}

}  // namespace

void add_lm_train(CLI::App& task, int& exit_code) {
  const auto arguments = std::make_shared<TrainArguments>();
  auto* verb = task.add_subcommand("train", "Train a language model");
  verb->footer(
      "Example: lact lm train --data books/ --tokenizer books.model --config lm_tiny -o run\n"
      "         lact lm train --data books/ --set mixer=window -o window_only\n"
      "         lact lm train --data books/ --set mixer='3 lact : 1 full' -o mixed\n"
      "         lact lm train --text ruler --answers-only --length 512 --tokenizer needles.model -o "
      "retrieval\n"
      "         lact lm train --resume run\n"
      "Ctrl-C saves a checkpoint. The folder holds the model, run.json, metrics.jsonl and TensorBoard "
      "events.");
  verb->add_option("-c,--config", arguments->config, "Preset, model folder or config file of the model")
      ->capture_default_str();
  verb->add_option("--set", arguments->assignments,
                   "Change a field of the model: name=value; may be given repeatedly")
      ->allow_extra_args(false);
  add_place_options(*verb, arguments->place);
  auto& run_config = arguments->run;
  auto& data = run_config.data;
  const char* const files = "Text files";
  verb->add_option("--data", data.data,
                   "Text or JSON-lines files or folders, also packed; without any, the built-in text");
  verb->add_option("--tokenizer", data.tokenizer, "bytes, or a SentencePiece model")->capture_default_str();
  verb->add_option("--valid", data.valid, "Text to validate on; without any, a share of the data")
      ->group(files);
  add_number(*verb, "--valid-share", data.valid_share,
             "That share, of files, of the documents of JSON lines, or of a single file's tokens", kShare)
      ->capture_default_str()
      ->group(files);
  verb->add_option("--cache", data.cache, "Folder for tokenised text; by default beside the data")
      ->group(files);
  add_fields(*verb, data.format, files);
  verb->add_option_function<std::string>(
          "--text",
          [&data](const std::string& word) { options::read(options::Json(word), data.text, "text"); },
          tasks::lm::kBuiltInTextHelp)
      ->default_str("recall")
      ->group("Built-in text: recall, ruler, tales");
  add_fields(*verb, data.recall, "Built-in text: recall");
  add_fields(*verb, data.ruler, "Built-in text: ruler");
  add_fields(*verb, data.tales, "Built-in text: tales");
  verb->get_option("--ruler-tasks")->delimiter(',')->allow_extra_args(false);
  add_fields(*verb, run_config.batches, "Batches");
  add_fields(*verb, run_config.training, "Training");
  add_precision_options(*verb, run_config.precision, run_config.recompute);
  verb->callback([verb, arguments, &exit_code] {
    exit_code = run_training(*verb, "lm train", arguments->place, arguments->run,
                             [&] { settle_run(*verb, *arguments); });
  });
}

}  // namespace lact::cli
