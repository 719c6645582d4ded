// A whole run of any task, from its settings to a model folder: how it begins, goes on, and what it would
// take. The folder holds everything to go on: run.json, checkpoints/, metrics.jsonl, tensorboard/, and the
// model as others read it.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>

#include "lact/base/options.h"
#include "lact/train/memory_needed.h"
#include "lact/train/plan.h"
#include "lact/train/run_folder.h"
#include "lact/train/trainer.h"

namespace lact::train {

/// What a task says of its runs:
///
///   training, initial_model       settings that every run has; initial_model "": random weights
///   check()                       throws one sentence for values that cannot work
///   make_paths_absolute()         for paths that have to mean the same from any folder
///   use_copies_in(folder)         a run that goes on reads the copies that the folder has kept for it
///   make_task(folder, initial)    the task, with random weights or those of the model `initial`, which may
///                                 settle what the settings leave open; writes nothing
///   plan()                        what the run would take
template <class Run>
concept RunSettings = options::Struct<Run> &&
    requires(Run& run, const Run& settled, const std::string& text) {
  { settled.training } -> std::convertible_to<TrainOptions>;
  { settled.initial_model } -> std::convertible_to<std::string>;
  settled.check();
  run.make_paths_absolute();
  run.use_copies_in(text);
  { run.make_task(text, text) } -> std::convertible_to<std::shared_ptr<Task>>;
  { settled.plan() } -> std::convertible_to<Plan>;
};

/// run.make_task for this rank: models give their blocks to where.lent.
template <RunSettings Run>
std::shared_ptr<Task> make_task(Run& run, const RunOptions& where, const std::string& initial) {
  const nn::LendingScope lending(where.lent);
  const SharesScope shares(shares_of(where));
  return run.make_task(where.folder, initial);
}

/// Trains in where.folder, which must not hold another run.
template <RunSettings Run>
TrainResult start_run(Run run, RunOptions where) {
  run.make_paths_absolute();
  make_absolute(run.initial_model);
  run.check();
  const parallel::Group& ranks = where.world.all;
  parallel::on_first(ranks, [&] { check_no_run(where.folder); });
  parallel::check_same(ranks, options::write(run).dump(), "the settings of the run");
  where.lent = lent_parameters(where);
  const std::shared_ptr<Task> task = make_task(run, where, run.initial_model);
  task->set_world(where.world);  // a mesh that does not fit is a mistake before anything is written
  const std::unique_ptr<RunLock> lock = lock_folder(where);
  parallel::on_first(ranks, [&] {
    check_no_run(where.folder);
    task->export_fixed_parts(where.folder);
    write_run_json(where.folder, options::write(run));
  });
  where.initial_weights = !run.initial_model.empty();
  return train(*task, run.training, where, lock, std::nullopt);
}

/// The settings of the run in `folder`.
template <RunSettings Run>
Run read_run(const std::string& folder) {
  auto run = read_run_file<Run>(folder);
  run.use_copies_in(folder);
  return run;
}

/// Goes on with the run in where.folder from its newest checkpoint, bit for bit.
template <RunSettings Run>
TrainResult resume_run(RunOptions where) {
  check_has_run(where.folder);
  const std::unique_ptr<RunLock> lock = lock_folder(where);
  auto run = read_run<Run>(where.folder);
  where.initial_weights = !run.initial_model.empty();
  auto checkpoint = find_checkpoint(where);
  where.lent = lent_parameters(where);
  const std::shared_ptr<Task> task = make_task(run, where, checkpoint ? "" : run.initial_model);
  return train(*task, run.training, where, lock, std::move(checkpoint));
}

/// What a run would take, as text.
template <RunSettings Run>
std::string plan_text(const Run& run) {
  run.check();
  return plan_text(run.plan());
}

}  // namespace lact::train
