#include "lact/cli/train_verb.h"

#include <iostream>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/options.h"
#include "lact/cli/numbers.h"
#include "lact/cli/outputs.h"
#include "lact/cli/verbs.h"

namespace lact::cli {

train::RunOptions TrainPlace::options() const {
  train::RunOptions options;
  options.folder = resume.empty() ? output : resume;
  options.title = "train";
  options.stop_after = stop_after;
  options.from_start = from_start;
  options.shard = shard;
  return options;
}

void add_place_options(CLI::App& verb, TrainPlace& place) {
  verb.add_option("--init", place.initial_model, "Begin with the weights of this model folder");
  verb.add_option("-o,--output", place.output, "Folder of the run")
      ->check(output_folder())
      ->capture_default_str();
  verb.add_option("--resume", place.resume, "Go on with the run in this folder, bit for bit");
  verb.add_flag("--from-start", place.from_start,
                "With --resume: begin again at step 0 where no checkpoint can be read");
  add_number(verb, "--stop-after", place.stop_after, "Stop cleanly after this step, to be resumed", kFromOne);
  add_rank_options(verb, place.ranks);
  verb.add_option_function<std::string>(
          "--shard",
          [&place](const std::string& word) { options::read(options::Json(word), place.shard, "shard"); },
          "What each process keeps only its share of: none, optimizer (AdamW's moments) or parameters (also "
          "the weights and gradients of blocks, lent to all while a block runs: for models larger than one "
          "process)")
      ->default_str(std::string(options::word_of(place.shard)))
      ->group("Several processes");
  verb.add_flag("--dry-run", place.dry_run, "Print what the run would take, and do nothing");
}

void add_precision_options(CLI::App& verb, ops::Precision& precision, nn::Recompute& recompute) {
  const auto add = [&verb](const std::string& name, auto& value, const char* help) {
    verb.add_option_function<std::string>(
            "--" + name,
            [&value, name](const std::string& word) { options::read(options::Json(word), value, name); },
            help)
        ->default_str(std::string(options::word_of(value)))
        ->group("Training");
  };
  add("precision", precision,
      "f32, bf16, or auto: bf16 where this processor multiplies it faster; weights and fast weights stay "
      "f32");
  add("recompute", recompute, nn::kRecomputeHelp);
}

bool goes_with_resume(const CLI::Option& option) {
  const std::string name = option.get_name();
  if (option.get_group() == "Several processes") return true;
  return name == "--resume" || name == "--from-start" || name == "--stop-after" || name == "--help";
}

void check_resume(const CLI::App& verb) {
  for (const auto* option : verb.get_options()) {
    LACT_CHECK(goes_with_resume(*option) || option->count() == 0,
               "[train] --resume goes on with the options of the run; {} cannot be changed",
               option->get_name());
  }
}

void check_no_resume(const CLI::App& verb) {
  LACT_CHECK(verb.get_option("--from-start")->count() == 0,
             "[train] --from-start is for --resume; a new run always begins at step 0");
}

void check_no_config(const CLI::App& verb, const TrainPlace& place) {
  LACT_CHECK(place.initial_model.empty() || verb.get_option("--config")->count() == 0,
             "[train] --config means nothing with --init, which brings its own model");
}

void check_initial_model(const CLI::App& verb, const TrainPlace& place) {
  check_no_config(verb, place);
  LACT_CHECK(place.initial_model.empty() || verb.get_option("--set")->count() == 0,
             "[train] --set means nothing with --init, which brings its own model");
}

void share_batches(train::TrainOptions& training, const parallel::World& world) {
  const int64_t copies = world.mesh.data;
  if (training.accumulate != 1 || copies == 1) return;
  training.accumulate = copies;
  if (world.all.rank() == 0) log::info("a step is {} batches, one for each copy of the model", copies);
}

int finish_training(const train::TrainResult& result, const std::string& verb, const train::RunOptions& run) {
  const bool speaks = run.world.all.rank() == 0;
  if (!result.finished) {
    if (speaks)
      log::info("stopped after step {}; go on with: lact {} --resume {}", result.step, verb, run.folder);
    return kExitInterrupted;
  }
  if (!speaks) return 0;
  nlohmann::ordered_json json = {
      {"folder", run.folder}, {"steps", result.step}, {"skipped", result.skipped}, {"loss", result.loss}};
  for (const auto& [name, value] : result.validation) json["valid_" + name] = value;
  std::cout << json.dump() << "\n";
  return 0;
}

}  // namespace lact::cli
