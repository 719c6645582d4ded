// What the `train` verbs of all tasks share.
#pragma once

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "lact/base/memory_use.h"
#include "lact/base/options.h"
#include "lact/cli/ranks.h"
#include "lact/nn/recompute.h"
#include "lact/ops/dispatch/precision.h"
#include "lact/train/run.h"

namespace lact::cli {

/// Where a run goes, or which one goes on.
struct TrainPlace {
  std::string output = "run", resume, initial_model;
  bool dry_run = false, from_start = false;
  int64_t stop_after = 0;
  RankOptions ranks;
  parallel::Shard shard = parallel::Shard::optimizer;

  train::RunOptions options() const;
};
void add_place_options(CLI::App& verb, TrainPlace& place);
void add_precision_options(CLI::App& verb, ops::Precision& precision, nn::Recompute& recompute);

/// Whether it may be given with --resume, which brings all other options of the run.
bool goes_with_resume(const CLI::Option& option);
/// A resumed run goes on as it was: anything else given would be ignored.
void check_resume(const CLI::App& verb);
/// What belongs to --resume alone.
void check_no_resume(const CLI::App& verb);

/// --init brings its own model: --config would be ignored.
void check_no_config(const CLI::App& verb, const TrainPlace& place);

/// The config of the model that --init brings, with what --set changes.
template <class Config>
Config changed(Config config, const std::vector<std::string>& assignments) {
  for (const auto& assignment : assignments) options::read(options::parse_assignment(assignment), config);
  config.check();
  return config;
}

/// Where --set would be ignored, too.
void check_initial_model(const CLI::App& verb, const TrainPlace& place);

/// One stage for each text like "steps=2000,size=64"; what it does not say is as in `defaults`. Without any
/// text, `defaults` is the only stage.
template <class Stage>
std::vector<Stage> read_stages(const std::vector<std::string>& texts, const Stage& defaults) {
  if (texts.empty()) return {defaults};
  std::vector<Stage> stages;
  for (const std::string& text : texts) {
    Stage stage = defaults;
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      options::read(options::parse_assignment(text.substr(begin, end - begin)), stage,
                    fmt::format("stage {}", stages.size() + 1));
      begin = end + 1;
    }
    stages.push_back(stage);
  }
  return stages;
}

/// Prints the result and gives the exit code; `verb` is what stands after `lact`, such as "nvs train".
int finish_training(const train::TrainResult& result, const std::string& verb, const train::RunOptions& run);

/// Copies of the model need a batch each: a step of one batch becomes one of as many.
void share_batches(train::TrainOptions& training, const parallel::World& world);

/// What every train verb does with its options: goes on with a run, prints a plan, or starts. `settle` makes
/// the run of what was given; a run that goes on has its own.
template <class Run, class Settle>
int run_training(const CLI::App& verb, const std::string& name, const TrainPlace& place, Run& run,
                 const Settle& settle) {
  keep_freed_memory();
  train::RunOptions where = place.options();
  where.world = join_ranks(place.ranks);
  if (!place.resume.empty()) {
    check_resume(verb);
    return finish_training(train::resume_run<Run>(where), name, where);
  }
  check_no_resume(verb);
  settle();
  run.initial_model = place.initial_model;
  if (place.dry_run) {
    std::cout << train::plan_text(run);
    return 0;
  }
  share_batches(run.training, where.world);
  return finish_training(train::start_run(run, where), name, where);
}

}  // namespace lact::cli
