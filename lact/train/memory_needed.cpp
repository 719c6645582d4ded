#include "lact/train/memory_needed.h"

#include <torch/nn/module.h>

#include "lact/base/format.h"
#include "lact/base/memory_use.h"
#include "lact/base/out_of_memory.h"

namespace lact::train {

namespace {

constexpr double kBytesOfFloat = 4;
thread_local Shares current_shares;
constexpr double kCloseToAll = 0.75;  // of the machine's memory

}  // namespace

ParameterCounts count_parameters(const torch::nn::Module& model) {
  ParameterCounts counts;
  for (const at::Tensor& parameter : model.parameters()) {
    counts.all += double(parameter.numel());
    if (parameter.requires_grad()) counts.learned += double(parameter.numel());
  }
  return counts;
}

Shares shares_of(const RunOptions& run) {
  const double each = 1 / double(run.world.all.size());
  switch (run.shard) {
    case parallel::Shard::none:
      return {};
    case parallel::Shard::optimizer:
      return {1, each};
    case parallel::Shard::parameters:
      return {each, each};
  }
  return {};
}

SharesScope::SharesScope(const Shares& shares) : before_(std::exchange(current_shares, shares)) {}
SharesScope::~SharesScope() { current_shares = before_; }
Shares shares_in_scope() { return current_shares; }

double bytes_to_train(const ParameterCounts& parameters, const TrainOptions& options, const Shares& shares) {
  const double copies = options.ema > 0 ? 2 : 1;
  return kBytesOfFloat * (shares.weights * (copies * parameters.all + parameters.learned) +
                          shares.moments * 2 * parameters.learned);
}

void check_memory_to_train(const ParameterCounts& parameters, const TrainOptions& options,
                           const Shares& shares) {
  check_memory_for(bytes_to_train(parameters, options, shares),
                   fmt::format("weights, gradients and moments of a model of {} parameters",
                               format_count(parameters.all)));
}

std::string memory_warning(const ParameterCounts& parameters, const TrainOptions& options,
                           const Shares& shares) {
  const double bytes = bytes_to_train(parameters, options, shares), machine = double(machine_memory_bytes());
  if (bytes <= kCloseToAll * machine) return "";
  return fmt::format(
      "weights, gradients and moments take {} of this machine's {}: little is left for the activations of a "
      "batch",
      format_bytes(bytes), format_bytes(machine));
}

}  // namespace lact::train
