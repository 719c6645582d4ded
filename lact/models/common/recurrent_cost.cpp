#include "lact/models/common/recurrent_cost.h"

#include "lact/mixers/heads.h"

namespace lact::models {

namespace {

/// Products of a token with the state of a head: k vᵀ and S q; the delta rule also looks up S k.
constexpr double kWriteAndRead = 2, kLookUpWriteAndRead = 3;

/// The heads of one direction, and how many directions there are.
struct StateShape {
  int64_t num_heads, head_dim, directions;
  int64_t elements() const { return directions * num_heads * head_dim * head_dim; }
};

CostPart recurrence_part(const StateShape& shape, double products) {
  return {"recurrence", 0, shape.elements(), products * 2 * double(shape.elements())};
}

CostPart head_output_cost(int64_t model_dim, const StateShape& shape, const HeadOutputConfig& config) {
  std::vector<CostPart> parts;
  if (config.norm) parts.push_back({"norm", shape.head_dim});
  if (config.scale != OutputScale::none) {
    const int64_t values = config.scale == OutputScale::per_head ? shape.num_heads : 1;
    parts.push_back(linear_cost("scale", model_dim, values, true));
  }
  return sum("output norm and scale", parts);
}

StateShape shape_of(int64_t model_dim, int64_t num_heads, bool both_ways) {
  return {num_heads, head_width(model_dim, num_heads), both_ways ? 2 : 1};
}

}  // namespace

std::vector<CostPart> recurrent_cost(int64_t model_dim, const recurrent::GlaConfig& config) {
  const StateShape shape = shape_of(model_dim, config.num_heads, config.both_ways);
  return {sum("gates", {linear_cost("down", model_dim, config.gate_rank, false),
                        linear_cost("up", config.gate_rank, model_dim, true)}),
          recurrence_part(shape, kWriteAndRead), head_output_cost(model_dim, shape, config.output)};
}

std::vector<CostPart> recurrent_cost(int64_t model_dim, const recurrent::DeltaNetConfig& config) {
  const StateShape shape = shape_of(model_dim, config.num_heads, config.both_ways);
  return {linear_cost("gates", model_dim, config.num_heads, false),
          recurrence_part(shape, kLookUpWriteAndRead), head_output_cost(model_dim, shape, config.output)};
}

std::vector<CostPart> recurrent_cost(int64_t model_dim, const recurrent::Mamba2Config& config) {
  const StateShape shape = shape_of(model_dim, config.num_heads, config.both_ways);
  return {linear_cost("gates", model_dim, config.num_heads, false), recurrence_part(shape, kWriteAndRead),
          head_output_cost(model_dim, shape, config.output)};
}

std::vector<CostPart> recurrent_cost(int64_t model_dim, const recurrent::Mamba2MixerConfig& config) {
  const StateShape shape = {config.num_heads, config.head_dim, config.both_ways ? 2 : 1};
  const int64_t width = config.num_heads * config.head_dim;
  CostPart projection = linear_cost("", model_dim, 3 * width * shape.directions, false);
  return {sum("memory projections", {projection, linear_cost("output", width, model_dim, false)}),
          linear_cost("gates", model_dim, config.num_heads * shape.directions, false),
          recurrence_part(shape, kWriteAndRead), head_output_cost(model_dim, shape, config.output)};
}

std::vector<CostPart> recurrent_cost(int64_t model_dim, const recurrent::Mamba2BlockConfig& config) {
  const int64_t inner = config.expand * model_dim, heads = inner / config.head_dim;
  const int64_t directions = config.both_ways ? 2 : 1, channels = inner + 2 * config.state_dim;
  const CostPart rows = linear_cost("", model_dim, 2 * inner + 2 * config.state_dim + heads, false);
  CostPart convolution = {"convolution", directions * channels * (config.conv_width + 1)};
  convolution.flops = 2 * double(directions * channels * config.conv_width);
  CostPart recurrence = {"recurrence", 0, directions * inner * config.state_dim};
  recurrence.flops = kWriteAndRead * 2 * double(recurrence.state);
  return {sum("memory projections", {rows, linear_cost("output", inner, model_dim, false)}),
          convolution,
          {"step, decay and skip", directions * 3 * heads},
          recurrence,
          {"gated norm", directions * inner}};
}

}  // namespace lact::models
