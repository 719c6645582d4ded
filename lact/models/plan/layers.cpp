#include "lact/models/plan/layers.h"

#include <algorithm>

#include "lact/models/common/recurrent_cost.h"

namespace lact::models::plan {

namespace {}  // namespace

BlockBuilder::BlockBuilder(int64_t model_dim, const Tokens& tokens, double type, double residual)
    : width_(double(model_dim)), tokens_(tokens), type_(type), residual_(residual) {}

void BlockBuilder::branch(bool modulated) {
  const double tokens = tokens_.all * width_;
  // The norm reads the tokens and writes a tensor; the sum reads both and writes. A modulated branch scales
  // and shifts, and multiplies by a gate, besides; it keeps the normed tokens and the branch's result.
  const double bytes = tokens * (2 * residual_ + type_) + tokens * (residual_ + type_) +
                       (modulated ? tokens * (2 * residual_ + 2 * type_) : 0);
  add({"norms and residuals", Kind::products, 0, bytes});
  block_.kept.input = std::max(block_.kept.input, tokens * residual_);
  block_.kept.results += tokens * residual_;
  block_.kept.cheap += tokens * type_;
  if (!modulated) return;
  block_.kept.cheap += tokens * residual_;
  block_.kept.results += type_ == residual_ ? 0 : tokens * residual_;
}

void BlockBuilder::projections(const char* name, const ProjectionConfig& config) {
  const CostPart cost = projection_cost(name, int64_t(width_), config);
  add({name, Kind::products, cost.flops * tokens_.all, config.qk_norm ? tensor(4) : 0,
       kFloatBytes * double(cost.parameters)});
  block_.kept.results += tensor(3);
  if (config.qk_norm) block_.kept.results += tensor(2);
  block_.exchanged.by_heads += tensor(4);
  block_.exchanged.head_calls += 2;
}

void BlockBuilder::attention(const char* name, const attention::AttentionConfig& config, double pairs,
                             double keys) {
  const int steps = (config.rope ? 1 : 0) + (config.head_norm ? 1 : 0);
  // 2 products of a head's width per pair forward; 5 more backward, the scores being made again.
  add({name, Kind::attention, 4 * width_ * pairs, tensor(4 * steps), 0, 2.5});
  if (steps > 0) block_.kept.cheap += tensor(2);
  block_.kept.results += tensor(1) + kFloatBytes * double(config.num_heads) * tokens_.all;
  block_.exchanged.keys += 2 * width_ * keys * type_;
  block_.exchanged.key_calls += keys > 0 ? tokens_.pieces : 0;
}

void BlockBuilder::window_attention(const attention::AttentionConfig& config) {
  attention("window attention", config, tokens_.window_pairs, tokens_.window_keys);
}

void BlockBuilder::full_attention(const attention::AttentionConfig& config) {
  attention("full attention", config, tokens_.all_pairs, tokens_.all);
}

void BlockBuilder::memory(const ttt::LactConfig& config, bool beside, bool rescaled) {
  const FastWeightCost cost = fast_weight_cost(int64_t(width_), config);
  const bool scaled = config.output_scale != ttt::OutputScale::none;
  const auto heads = double(config.num_heads);
  const auto matrices = double(std::max<int64_t>(1, cost.num_matrices));
  const double small = heads * (matrices * double(config.rate_channels) + (config.update.momentum ? 1 : 0) +
                                (scaled ? 1 : 0));  // numbers per token
  // silu and l2_norm next to each other are one step.
  double steps = double(config.prepare_qk.size());
  for (size_t i = 0; i + 1 < config.prepare_qk.size(); ++i) {
    if (config.prepare_qk[i] == ttt::Preparation::silu &&
        config.prepare_qk[i + 1] == ttt::Preparation::l2_norm)
      steps -= 1;
  }
  const bool norm_last = !config.prepare_qk.empty() && config.prepare_qk.back() == ttt::Preparation::l2_norm;
  const double widened = type_ < kFloatBytes ? tokens_.all * width_ * kFloatBytes : 0;
  const double prepared = tensor(4 * steps) + (rescaled ? tensor(4) : 0) + (config.silu_v ? tensor(2) : 0) +
                          1.5 * widened + tensor(2) + (scaled ? tensor(2) : 0) + (beside ? tensor(3) : 0) +
                          5 * kFloatBytes * small * tokens_.all;
  add({"memory preparation", Kind::products, 2 * width_ * small * tokens_.all, prepared});
  // Recomputing repeats five of the nine products of a token that is read and written.
  add({"memory scan", Kind::scan, cost.update_flops * tokens_.written + cost.apply_flops * tokens_.all, 0, 0,
       2, 5.0 / 9});
  const double state = kFloatBytes * double(cost.state);
  // Momentum, the step along it, the norm of rows: about six passes over the matrices.
  add({"Newton-Schulz", Kind::newton_schulz, cost.muon_flops * tokens_.updates, 6 * state * tokens_.updates,
       0, 2, 1});

  auto& kept = block_.kept;
  if (rescaled) kept.cheap += tensor(2);
  kept.cheap += tensor(2);
  if (steps > 1 && norm_last) kept.cheap += tensor(2);
  if (config.silu_v) kept.cheap += tensor(1);
  kept.cheap += widened;
  if (scaled) kept.cheap += tensor(1);
  kept.results += tensor(beside ? 2 : 1) + 3 * kFloatBytes * small * tokens_.all;
  if (!beside) kept.results += tensor(1);
  const double hidden = width_ * config.hidden_multiple * type_;
  kept.hidden += hidden * (2 * tokens_.all + 3 * tokens_.written);
  kept.updates += state * (1 + tokens_.updates * (config.update.momentum || config.update.muon ? 2 : 1));
  if (config.update.muon)
    kept.iterates +=
        state / kFloatBytes * type_ * double(config.update.newton_schulz.steps) * tokens_.updates;
  block_.exchanged.by_heads += kFloatBytes * small * tokens_.all;
  block_.exchanged.fast_weights += state * tokens_.updates;
  block_.exchanged.updates += tokens_.updates;
}

void BlockBuilder::recurrence(const std::vector<CostPart>& cost) {
  constexpr double kChunk = 64;  // tokens between two states that are kept
  const CostPart all = sum("recurrence", cost);
  add({"recurrence", Kind::recurrence, all.flops * tokens_.all, tensor(10), 0, 2.5});
  block_.kept.cheap += tensor(3);
  block_.kept.results += tensor(2) + kFloatBytes * double(all.state) * tokens_.all / kChunk;
  block_.exchanged.states += kFloatBytes * double(all.state) * tokens_.pieces;
  block_.exchanged.state_calls += tokens_.pieces;
}

void BlockBuilder::cross_attention(const CrossAttentionConfig& config, int64_t text_tokens) {
  const double square = 4 * width_ * width_ * tokens_.all;  // q and output
  add({"cross attention", Kind::products, square, config.projection.qk_norm ? tensor(2) : 0,
       4 * kFloatBytes * width_ * width_});
  add({"cross attention", Kind::attention, 4 * width_ * double(text_tokens) * tokens_.all, 0, 0, 2.5});
  block_.kept.results += tensor(config.projection.qk_norm ? 3 : 2);
}

void BlockBuilder::feed_forward(const nn::FeedForwardOptions& options) {
  const CostPart cost = feed_forward_cost(int64_t(width_), options);
  const bool gated = options.kind == nn::FeedForwardKind::swiglu;
  const double hidden = double(options.hidden_dim) * tokens_.all * type_;
  add({"feed-forward", Kind::products, cost.flops * tokens_.all, (gated ? 3 : 2) * hidden,
       kFloatBytes * double(cost.parameters)});
  block_.kept.results += (gated ? 2 : 1) * hidden;
  block_.kept.cheap += hidden;
  block_.transient = std::max(block_.transient, (gated ? 3 : 2) * hidden + tensor(2));
}

BlockWork BlockBuilder::done(int64_t count, double parameters) {
  // Gradients of q, k, v twice, of what was read and of the tokens.
  block_.transient = std::max(block_.transient, tensor(8));
  block_.count = count;
  block_.parameters = parameters;
  return std::move(block_);
}

}  // namespace lact::models::plan
