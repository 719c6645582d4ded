// The training loop of every task: AdamW or Muon, warm-up and decay, clipping, accumulation, skipped steps,
// moving average, checkpoints that continue bit for bit, and a record of what happened.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lact/parallel/shard.h"
#include "lact/train/checkpoint.h"
#include "lact/train/lent_parameters.h"
#include "lact/train/optimizer.h"
#include "lact/train/rate_schedule.h"
#include "lact/train/run_folder.h"
#include "lact/train/task.h"

namespace lact::train {

struct TrainOptions {
  int64_t steps = 1000;
  double minutes = 0;
  int64_t accumulate = 1;
  double rate = 1e-3;
  RateDecay rate_decay = RateDecay::cosine;
  double rate_floor = 0.1;
  int64_t warmup = 50;
  Rule optimizer = Rule::adamw;
  AdamWOptions adamw;
  MuonOptions muon;
  double clip = 1;
  double skip_above = 20;
  double ema = 0;
  int64_t seed = 1;
  int64_t validate_every = 200;
  int64_t save_every = 200;
  int64_t keep = 2;
  int64_t log_every = 10;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("steps", steps, "optimizer steps");
    field(
        "minutes", minutes,
        "time that the run may take, all its parts together: it ends then, and the learning rate falls with "
        "the clock; 0: no limit");
    field("accumulate", accumulate,
          "batches whose gradients are added up for one step; copies of the model on other ranks share them "
          "out");
    field("rate", rate, "highest learning rate");
    field("rate_decay", rate_decay,
          "how the learning rate falls after the warm-up: cosine, linear or constant");
    field("rate_floor", rate_floor, "last learning rate as a share of the highest");
    field("warmup", warmup, "steps until the highest learning rate");
    field("optimizer", optimizer,
          "adamw, or muon: Muon for the matrices of blocks, AdamW for the rest; the rate is for both");
    field("adamw", adamw, "settings of AdamW; its weight decay is also Muon's");
    field("muon", muon, "settings of Muon");
    field("clip", clip, "largest norm of the gradient; 0 does not clip");
    field("skip_above", skip_above,
          "a step whose gradient norm is so many times the median of the last ones is skipped; 0 skips none");
    field("ema", ema, "decay of a moving average of the weights, which is then what is saved; 0 is none");
    field("seed", seed, "seed of initial weights and data order");
    field("validate_every", validate_every, "steps between validations; 0 is none");
    field("save_every", save_every, "steps between checkpoints");
    field("keep", keep, "checkpoints kept");
    field("log_every", log_every, "steps between records in metrics.jsonl");
  }
  bool operator==(const TrainOptions&) const = default;

  /// Throws one sentence for values that cannot work.
  void check() const;
};

struct RunOptions {
  std::string folder;       ///< checkpoints/, metrics.jsonl, tensorboard/ and the exported model
  std::string title = {};   ///< of the progress line
  int64_t stop_after = 0;   ///< stops cleanly after this step, as if interrupted; 0 runs to the end
  bool resume = false;      ///< continues from the newest checkpoint
  bool from_start = false;  ///< where no checkpoint can be read, a resumed run begins again at step 0
  bool initial_weights =
      false;  ///< the model begins with weights that no seed gives: they are saved as step 0
  /// Asked before every step; true stops cleanly, as if interrupted. A host that gives it keeps its signals;
  /// without it SIGINT and SIGTERM stop the run while it lasts.
  std::function<bool()> stop = {};
  std::function<double()> clock = {};  ///< seconds, for a time budget; the system's where absent
  parallel::World world = {};          ///< the ranks that train together; rank 0 writes the folder
  parallel::Shard shard = parallel::Shard::optimizer;  ///< what ranks share out
  std::shared_ptr<LentParameters> lent = {};           ///< that the task's model was made with
};

struct TrainResult {
  int64_t step = 0;  ///< steps done, skipped ones included
  int64_t skipped = 0;
  bool finished = false;  ///< false: interrupted
  double loss = 0;        ///< of the last step
  double seconds = 0;     ///< of this call
  std::map<std::string, double> validation;
};

TrainResult train(Task& task, const TrainOptions& options, const RunOptions& run);

/// The checkpoint that a run in run.folder goes on from; nothing if there is none yet. Throws a sentence if
/// the run would silently begin again: if all of its checkpoints are damaged, or if its initial weights are
/// gone.
std::optional<Checkpoint> find_checkpoint(const RunOptions& run);

/// What a model is made with (nn::LendingScope) if its parameters are shared out; else null.
std::shared_ptr<LentParameters> lent_parameters(const RunOptions& run);

/// Ranks that would train something else are noticed before the first step.
void check_ranks(Task& task, const TrainOptions& options, const RunOptions& run,
                 const std::optional<Checkpoint>& checkpoint);

/// The folder in that of a run.
std::string checkpoints_of(const std::string& folder);

/// Of the run's folder, on rank 0 for all.
std::unique_ptr<RunLock> lock_folder(const RunOptions& run);

/// The same in a folder that the caller has locked, from a checkpoint that was found in it.
TrainResult train(Task& task, const TrainOptions& options, const RunOptions& run,
                  const std::unique_ptr<RunLock>& lock, std::optional<Checkpoint> checkpoint);

}  // namespace lact::train
