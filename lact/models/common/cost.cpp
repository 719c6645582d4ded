#include "lact/models/common/cost.h"

#include <algorithm>

#include "lact/mixers/heads.h"
#include "lact/models/common/recurrent_cost.h"

namespace lact::models {

namespace {

void append(std::vector<CostPart>& parts, std::vector<CostPart> more) {
  for (auto& part : more) parts.push_back(std::move(part));
}

std::vector<ttt::MatrixShape> matrix_shapes(int64_t model_dim, const ttt::LactConfig& config) {
  const int64_t width = head_width(model_dim, config.num_heads);
  const auto hidden = int64_t(double(width) * config.hidden_multiple);
  return ttt::network(config.network).matrices(width, hidden, width);
}

CostPart attention_cost(std::string name, int64_t model_dim, const attention::AttentionConfig& config,
                        double attended) {
  CostPart part{std::move(name)};
  if (config.head_norm) part.parameters = 2 * head_width(model_dim, config.num_heads);
  part.flops = 2 * 2 * attended * double(model_dim);  // q·k and p·v
  return part;
}

/// Rates, momentum, output scale and output norm.
CostPart gate_cost(int64_t model_dim, const ttt::LactConfig& config) {
  const auto written = ttt::written_matrices(ttt::network(config.network), config.update);
  const int64_t matrices = std::count(written.begin(), written.end(), true);
  std::vector<CostPart> parts = {
      linear_cost("rate", model_dim, matrices * config.num_heads * config.rate_channels, config.rate_bias)};
  if (config.update.momentum) parts.push_back(linear_cost("momentum", model_dim, config.num_heads, true));
  if (config.output_scale != ttt::OutputScale::none) {
    const bool per_head = config.output_scale == ttt::OutputScale::per_head;
    parts.push_back(linear_cost("scale", model_dim, per_head ? config.num_heads : 1, true));
  }
  if (config.output_norm) parts.push_back({"norm", head_width(model_dim, config.num_heads)});
  return sum("rates and gates", parts);
}

std::vector<CostPart> lact_cost(int64_t model_dim, const ttt::LactConfig& config,
                                const Surroundings& around) {
  const FastWeightCost cost = fast_weight_cost(model_dim, config);
  std::vector<CostPart> parts = {{"fast weights", cost.parameters, cost.state},
                                 gate_cost(model_dim, config),
                                 {"update", 0, 0, cost.update_flops},
                                 {"apply", 0, 0, cost.apply_flops}};
  if (config.update.muon) parts.push_back({"Muon", 0, 0, cost.muon_flops / around.chunk});
  return parts;
}

/// What make_core gives.
std::vector<CostPart> core_cost(int64_t model_dim, MixerKind kind, const HybridLayerConfig& config,
                                const Surroundings& around) {
  switch (kind) {
    case MixerKind::lact:
      return lact_cost(model_dim, config.memory, around);
    case MixerKind::ttt:
      return lact_cost(model_dim, config.ttt, around);
    case MixerKind::gla:
      return recurrent_cost(model_dim, config.gla);
    case MixerKind::deltanet:
      return recurrent_cost(model_dim, config.deltanet);
    case MixerKind::mamba2:
      return recurrent_cost(model_dim, config.mamba2);
    default:
      return {};
  }
}

}  // namespace

CostPart sum(std::string name, const std::vector<CostPart>& parts) {
  CostPart all{std::move(name)};
  for (const auto& part : parts) {
    all.parameters += part.parameters;
    all.state += part.state;
    all.flops += part.flops;
  }
  return all;
}

double newton_schulz_flops(int64_t rows, int64_t cols) {
  const auto m = double(std::min(rows, cols)), n = double(std::max(rows, cols));
  return 2 * m * m * n + 2 * m * m * m + 2 * m * m * n;
}

FastWeightCost fast_weight_cost(int64_t model_dim, const ttt::LactConfig& config) {
  FastWeightCost cost;
  cost.head_dim = head_width(model_dim, config.num_heads);
  const int64_t rank = config.initial_weights.rank;
  double iteration = 0, elements = 0;
  const auto written = ttt::written_matrices(ttt::network(config.network), config.update);
  for (const auto& shape : matrix_shapes(model_dim, config)) {
    const bool low_rank = rank > 0 && shape.reads_tokens;
    if (cost.num_matrices == 0) cost.hidden_dim = shape.out;
    const bool is_written = written[size_t(cost.num_matrices)];
    elements += double(config.num_heads * shape.out * shape.in);
    if (is_written) cost.state += config.num_heads * shape.out * shape.in;
    cost.parameters += config.num_heads * (low_rank ? rank * (shape.out + shape.in) : shape.out * shape.in);
    ++cost.num_matrices;
    if (is_written) iteration += double(config.num_heads) * newton_schulz_flops(shape.out, shape.in);
  }
  // A loss that looks at f(k) needs it computed: one pass more.
  // Where only the output's matrix is written, nothing goes back through it: each is multiplied once.
  const bool one = config.update.written == ttt::Written::down;
  const double passes = (one ? 1 : ttt::network(config.network).descent_passes()) +
                        (ttt::loss(config.loss).needs_prediction() ? 1 : 0);
  const auto steps = double(config.update.steps);
  cost.update_flops = steps * passes * 2 * elements;
  cost.apply_flops = 2 * elements;
  if (config.update.muon) cost.muon_flops = steps * double(config.update.newton_schulz.steps) * iteration;
  return cost;
}

FastWeightCost fast_weight_cost(int64_t model_dim, MixerKind kind, const HybridLayerConfig& config) {
  if (kind == MixerKind::lact) return fast_weight_cost(model_dim, config.memory);
  return kind == MixerKind::ttt ? fast_weight_cost(model_dim, config.ttt) : FastWeightCost{};
}

CostPart linear_cost(std::string name, int64_t in, int64_t out, bool bias) {
  return {std::move(name), in * out + (bias ? out : 0), 0, 2 * double(in) * double(out)};
}

CostPart norm_cost(std::string name, int64_t width, const nn::NormOptions& options) {
  return {std::move(name), options.bias ? 2 * width : width};
}

CostPart feed_forward_cost(int64_t model_dim, const nn::FeedForwardOptions& options) {
  std::vector<CostPart> parts = {linear_cost("up", model_dim, options.hidden_dim, options.bias),
                                 linear_cost("down", options.hidden_dim, model_dim, options.bias)};
  if (options.kind == nn::FeedForwardKind::swiglu) parts.push_back(parts.front());
  return sum("feed-forward", parts);
}

CostPart projection_cost(std::string name, int64_t model_dim, const ProjectionConfig& config) {
  std::vector<CostPart> parts = {linear_cost("qkv", model_dim, 3 * model_dim, config.qkv_bias),
                                 linear_cost("output", model_dim, model_dim, config.output_bias)};
  if (config.qk_norm) parts.push_back({"norms", 2 * model_dim});
  if (config.conv_width > 0) parts.push_back({"convolution", 3 * model_dim * config.conv_width});
  return sum(std::move(name), parts);
}

std::vector<CostPart> layer_cost(int64_t model_dim, MixerKind kind, const HybridLayerConfig& config,
                                 const Surroundings& around) {
  std::vector<CostPart> parts = {projection_cost("projections", model_dim, config.projection)};
  if (kind == MixerKind::full) {
    parts.push_back(attention_cost("full attention", model_dim, config.attention, around.everything));
    return parts;
  }
  if (kind != MixerKind::window && config.rescaled != Rescaled::none) {
    parts.push_back({"scale and shift of q, k", 4 * model_dim});
  }
  parts.push_back(attention_cost("window attention", model_dim, config.attention, around.attended));
  append(parts, core_cost(model_dim, kind, config, around));
  return parts;
}

std::vector<CostPart> layer_cost(int64_t model_dim, const LactLayerConfig& config,
                                 const Surroundings& around) {
  std::vector<CostPart> parts = {projection_cost("memory projections", model_dim, config.projection)};
  append(parts, lact_cost(model_dim, config.memory, around));
  return parts;
}

std::vector<CostPart> layer_cost(int64_t model_dim, const AttentionLayerConfig& config,
                                 const Surroundings& around) {
  return {projection_cost("attention projections", model_dim, config.projection),
          attention_cost("window attention", model_dim, config.attention, around.attended)};
}

std::vector<CostPart> full_layer_cost(int64_t model_dim, const AttentionLayerConfig& config,
                                      const Surroundings& around) {
  return {projection_cost("full attention projections", model_dim, config.projection),
          attention_cost("full attention", model_dim, config.attention, around.everything)};
}

CostPart ModelCost::total() const {
  CostPart all = sum("total", others);
  for (const auto& kind : blocks) {
    const CostPart one = kind.one();
    all.parameters += kind.count * one.parameters;
    all.state += kind.count * one.state;
    all.flops += double(kind.count) * one.flops;
  }
  return all;
}

double ModelCost::state_share() const { return double(total().state) / double(total().parameters); }

double ModelCost::state_in_squares() const { return state_in_widths() / double(model_dim); }

double ModelCost::state_in_widths() const { return double(block_state()) / double(model_dim); }

}  // namespace lact::models
