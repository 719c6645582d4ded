// What a run keeps for every parameter, compared with the machine's memory before any of it is taken. What a
// step needs besides, activations above all, depends on the task and is not counted.
#pragma once

#include "lact/train/trainer.h"

namespace lact::train {

/// Parameters of a model; those that are not learned have no gradient and no moments.
struct ParameterCounts {
  double all = 0;
  double learned = 0;
};
ParameterCounts count_parameters(const torch::nn::Module& model);

/// What this rank keeps of all.
struct Shares {
  double weights = 1;  ///< and of their gradients and moving average
  double moments = 1;
};
Shares shares_of(const RunOptions& run);
/// While one lives, tasks that this thread makes are for a rank with these shares.
class SharesScope {
 public:
  explicit SharesScope(const Shares& shares);
  ~SharesScope();
  SharesScope(const SharesScope&) = delete;
  SharesScope& operator=(const SharesScope&) = delete;

 private:
  Shares before_;
};
Shares shares_in_scope();

/// Bytes that stay from step to step, all float32: weights and their moving average, if there is one;
/// gradients and AdamW's two moments of those that are learned.
double bytes_to_train(const ParameterCounts& parameters, const TrainOptions& options,
                      const Shares& shares = {});

/// Throws OutOfMemory, in one sentence, if that is more than this machine has at all: for a task, before it
/// makes the model.
void check_memory_to_train(const ParameterCounts& parameters, const TrainOptions& options,
                           const Shares& shares = shares_in_scope());

/// A sentence for runs that fit but leave little for activations; "" for others.
std::string memory_warning(const ParameterCounts& parameters, const TrainOptions& options,
                           const Shares& shares = {});

}  // namespace lact::train
