// What the trainer needs to know of a task: a model, numbered batches and their loss. It knows nothing else
// of text, views or video.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <map>
#include <string>

#include "lact/parallel/world.h"
#include "lact/train/rate_schedule.h"

namespace lact::train {

class Task {
 public:
  virtual ~Task() = default;

  virtual torch::nn::Module& model() = 0;

  /// The ranks that this is one of. Those of `world.sequence` share the tokens of every batch.
  virtual void set_world(const parallel::World& world);

  /// The mean loss of a batch, or this rank's part of it: the sum over world.sequence is the mean loss.
  /// Batches are numbered from 0, and a number always means the same data: the data position of a run is a
  /// count.
  virtual at::Tensor loss(int64_t batch) = 0;

  /// The learning rate of a parameter, as a multiple of the run's.
  virtual double rate_factor(const std::string& /*parameter*/) const { return 1; }

  /// The learning rate of a step, 0, 1, ...; `run` is what the run's options say of it.
  virtual double rate(const RateSchedule& run, int64_t step) const { return run.at(step); }

  virtual int64_t tokens_of_batch(int64_t batch) const = 0;
  virtual double flops_of_batch(int64_t batch) const = 0;  ///< forward and backward

  /// The loss of a step as people of the task read it, such as "loss 3.214".
  virtual std::string loss_text(double loss) const;

  /// Figures on data that is not trained on, such as {"loss", 3.2}.
  virtual std::map<std::string, double> validate() { return {}; }

  /// Writes what others need to read the model and training does not change; once, before the first step.
  virtual void export_fixed_parts(const std::string& /*folder*/) {}
  /// Writes the model in the form that other commands read.
  virtual void export_model(const std::string& folder) = 0;
};

}  // namespace lact::train
