#include "lact/models/common/mamba2_names.h"

#include "lact/base/error.h"

namespace lact::models {

namespace {

ForeignNames scan_names(int64_t model_dim, const recurrent::Mamba2BlockConfig& config) {
  const int64_t channels = config.expand * model_dim + 2 * config.state_dim;
  ForeignNames names;
  names.shaped("conv1d.weight", "conv_weight", {channels, 1, config.conv_width});
  names.same("conv1d.bias", "conv_bias");
  names.same("dt_bias", "step_bias");
  names.same("A_log", "decay_log");
  names.same("D", "skip");
  names.same("norm.weight", "norm.weight");
  return names;
}

ForeignNames projection_names() {
  ForeignNames names;
  names.linear("in_proj", "input", false);
  names.linear("out_proj", "output", false);
  return names;
}

}  // namespace

ForeignNames mamba2_simple_names(int64_t model_dim, const recurrent::Mamba2BlockConfig& config) {
  LACT_CHECK(!config.both_ways, "[mamba2 block] Mamba2Simple has one direction");
  ForeignNames names = projection_names();
  names.nest("", "scan0.", scan_names(model_dim, config));
  return names;
}

ForeignNames long_lrm_mamba2_names(int64_t model_dim, const recurrent::Mamba2BlockConfig& config) {
  ForeignNames names;
  names.same("norm.weight", "norm.weight");
  names.nest("mamba.", "mamba.", projection_names());
  for (int i = 0; i < (config.both_ways ? 2 : 1); ++i) {
    names.nest(fmt::format("mamba.mamba_scans.{}.", i), fmt::format("mamba.scan{}.", i),
               scan_names(model_dim, config));
  }
  return names;
}

}  // namespace lact::models
