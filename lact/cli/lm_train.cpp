#include <filesystem>
#include <iostream>

#include "lact/base/log.h"
#include "lact/base/memory_use.h"
#include "lact/cli/fields.h"
#include "lact/cli/lm.h"
#include "lact/cli/verbs.h"
#include "lact/models/lm/folder.h"
#include "lact/models/presets.h"
#include "lact/train/tasks/lm_run.h"

namespace lact::cli {

namespace {

constexpr int kInterrupted = 130;

struct TrainWords {
  std::string config = "lm_tiny", output = "run", resume, initial_model;
  std::vector<std::string> assignments;
  bool dry_run = false;
  int64_t stop_after = 0;
  train::LmRun run;
};

/// The preset or file with its changes; the vocabulary is the tokenizer's unless it was set.
models::LmConfig model_config(const TrainWords& words) {
  if (!words.initial_model.empty()) return models::read_lm_config(words.initial_model);
  const auto config = models::resolve_config(words.config, words.assignments);
  LACT_CHECK(task_of(config) == models::Task::lm, "[train] {} is not a language model", words.config);
  auto model = std::get<models::LmConfig>(config);
  const bool chosen =
      std::any_of(words.assignments.begin(), words.assignments.end(),
                  [](const std::string& text) { return text.starts_with("vocabulary_size="); });
  if (!chosen) model.vocabulary_size = data::read_tokenizer(words.run.data.tokenizer)->vocabulary_size();
  return model;
}

/// A resumed run goes on as it was: anything else given would be ignored.
void check_resume(const CLI::App& verb) {
  for (const auto* option : verb.get_options()) {
    const std::string name = option->get_name();
    const bool allowed = name == "--resume" || name == "--stop-after" || name == "--help";
    LACT_CHECK(allowed || option->count() == 0,
               "[train] --resume goes on with the options of the run; {} cannot be changed", name);
  }
}

int finish(const train::TrainResult& result, const std::string& folder) {
  if (!result.finished) {
    log::info("stopped after step {}; go on with: lact lm train --resume {}", result.step, folder);
    return kInterrupted;
  }
  nlohmann::ordered_json json = {
      {"folder", folder}, {"steps", result.step}, {"skipped", result.skipped}, {"loss", result.loss}};
  for (const auto& [name, value] : result.validation) json["valid_" + name] = value;
  std::cout << json.dump() << "\n";
  return 0;
}

int run_train(const CLI::App& verb, TrainWords& words) {
  keep_freed_memory();
  train::RunOptions options;
  options.title = "train";
  options.stop_after = words.stop_after;
  if (!words.resume.empty()) {
    check_resume(verb);
    options.folder = words.resume;
    return finish(resume_run(options), words.resume);
  }
  // Nothing that is given may be ignored.
  check_option_groups(verb, words.run.data.data.empty() ? "Built-in text" : "Text files");
  for (const char* name : {"--config", "--set"}) {
    LACT_CHECK(words.initial_model.empty() || verb.get_option(name)->count() == 0,
               "[train] {} means nothing with --init, which brings its own model", name);
  }
  const auto own_tokenizer = std::filesystem::path(words.initial_model) / "tokenizer.model";
  const bool chosen = verb.get_option("--tokenizer")->count() > 0;
  if (!words.initial_model.empty() && !chosen && std::filesystem::exists(own_tokenizer)) {
    words.run.data.tokenizer = own_tokenizer.string();
  }
  words.run.model = model_config(words);
  if (words.dry_run) {
    std::cout << plan_text(words.run);
    return 0;
  }
  options.folder = words.output;
  return finish(start_run(words.run, options, words.initial_model), words.output);
}

}  // namespace

void add_lm_train(CLI::App& task, int& exit_code) {
  const auto words = std::make_shared<TrainWords>();
  auto* verb = task.add_subcommand("train", "Train a language model");
  verb->footer(
      "Example: lact lm train --data books/ --tokenizer books.model --config lm_tiny -o run\n"
      "         lact lm train --data books/ --set layer.memory_kind=none -o window_only\n"
      "         lact lm train --resume run\n"
      "Ctrl-C saves a checkpoint. The folder holds the model, run.json, metrics.jsonl and TensorBoard "
      "events.");
  verb->add_option("-c,--config", words->config, "Preset or JSON file of the model")->capture_default_str();
  verb->add_option("--set", words->assignments,
                   "Change a field of the model: name=value; may be given repeatedly")
      ->allow_extra_args(false);
  verb->add_option("--init", words->initial_model, "Begin with the weights of this model folder");
  verb->add_option("-o,--output", words->output, "Folder of the run")->capture_default_str();
  verb->add_option("--resume", words->resume, "Go on with the run in this folder, bit for bit");
  verb->add_option("--stop-after", words->stop_after, "Stop cleanly after this step, to be resumed")
      ->check(CLI::PositiveNumber);
  verb->add_flag("--dry-run", words->dry_run, "Print parameters, memory, work and time, and do nothing");
  auto& run_config = words->run;
  auto& data = run_config.data;
  const char* const files = "Text files";
  verb->add_option("--data", data.data,
                   "Text files or folders, plain or gzip; without any, the built-in text");
  verb->add_option("--tokenizer", data.tokenizer, "bytes, or a SentencePiece model")->capture_default_str();
  verb->add_option("--valid", data.valid, "Text to validate on; without any, a share of the data")
      ->group(files);
  verb->add_option("--valid-share", data.valid_share, "That share, of files or of a single file's tokens")
      ->capture_default_str()
      ->group(files);
  verb->add_option("--cache", data.cache, "Folder for tokenised text; by default beside the data")
      ->group(files);
  add_fields(*verb, data.recall, "Built-in text");
  add_fields(*verb, run_config.batches, "Batches");
  add_fields(*verb, run_config.training, "Training");
  verb->add_option_function<std::string>(
          "--precision",
          [&run_config](const std::string& word) {
            options::read(options::Json(word), run_config.precision, "precision");
          },
          "f32, or bf16 for matrix products; weights and fast weights stay f32")
      ->default_str("f32")
      ->group("Training");
  verb->add_flag("--recompute", run_config.recompute,
                 "Compute blocks again in the backward pass: less memory, a third more time")
      ->group("Training");
  verb->callback([verb, words, &exit_code] { exit_code = run_train(*verb, *words); });
}

}  // namespace lact::cli
