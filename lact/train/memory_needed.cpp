#include "lact/train/memory_needed.h"

#include <torch/nn/module.h>

#include "lact/base/format.h"
#include "lact/base/memory_use.h"
#include "lact/base/out_of_memory.h"

namespace lact::train {

namespace {

constexpr double kBytesOfFloat = 4;
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

double bytes_to_train(const ParameterCounts& parameters, const TrainOptions& options) {
  const double copies = options.ema > 0 ? 2 : 1;
  return kBytesOfFloat * (copies * parameters.all + 3 * parameters.learned);
}

void check_memory_to_train(const ParameterCounts& parameters, const TrainOptions& options) {
  check_memory_for(bytes_to_train(parameters, options),
                   fmt::format("weights, gradients and moments of a model of {} parameters",
                               format_count(parameters.all)));
}

std::string memory_warning(const ParameterCounts& parameters, const TrainOptions& options) {
  const double bytes = bytes_to_train(parameters, options), machine = double(machine_memory_bytes());
  if (bytes <= kCloseToAll * machine) return "";
  return fmt::format(
      "weights, gradients and moments take {} of this machine's {}: little is left for the activations of a "
      "batch",
      format_bytes(bytes), format_bytes(machine));
}

}  // namespace lact::train
