// What the `train` verbs of all tasks share.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "lact/nn/recompute.h"
#include "lact/train/precision.h"
#include "lact/train/trainer.h"

namespace lact::cli {

/// Where a run goes, or which one goes on.
struct TrainPlace {
  std::string output = "run", resume, initial_model;
  bool dry_run = false;
  int64_t stop_after = 0;

  train::RunOptions options() const;
};
void add_place_options(CLI::App& verb, TrainPlace& place);
void add_precision_options(CLI::App& verb, train::Precision& precision, nn::Recompute& recompute);

/// A resumed run goes on as it was: anything else given would be ignored.
void check_resume(const CLI::App& verb);

/// --init brings its own model: --config and --set would be ignored.
void check_initial_model(const CLI::App& verb, const TrainPlace& place);

/// Prints the result and gives the exit code; `task` is the word after `lact`.
int finish_training(const train::TrainResult& result, const std::string& task, const std::string& folder);

}  // namespace lact::cli
