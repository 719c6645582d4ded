#include "lact/models/nvs/weights.h"

#include <cmath>
#include <limits>

#include "lact/base/error.h"

namespace lact::models {

namespace {

int64_t num_heads(int64_t model_dim, int64_t head_dim) {
  LACT_CHECK(head_dim > 0 && model_dim % head_dim == 0, "[nvs] head_dim {} does not divide dim {}", head_dim,
             model_dim);
  return model_dim / head_dim;
}

}  // namespace

AttentionLayerConfig translate(const AuthorsNvsAttention& theirs, int64_t model_dim) {
  LACT_CHECK(!theirs.causal, "[nvs] causal attention inside an image is not part of this model");
  AttentionLayerConfig config;
  config.projection = {.qkv_bias = theirs.bias, .output_bias = theirs.bias};
  config.attention.num_heads = num_heads(model_dim, theirs.head_dim);
  config.attention.head_norm = theirs.use_qk_norm;
  config.attention.head_norm_epsilon = std::numeric_limits<float>::epsilon();
  return config;
}

LactLayerConfig translate(const AuthorsNvsLact& theirs, int64_t model_dim) {
  LactLayerConfig config;
  config.projection = {.qkv_bias = theirs.bias, .output_bias = theirs.bias};
  auto& memory = config.memory;
  memory.num_heads = num_heads(model_dim, theirs.head_dim);
  memory.hidden_multiple = theirs.inter_multi;
  memory.update.muon = true;
  memory.update.newton_schulz.steps = theirs.muon_update_steps;
  memory.update.detach_norm = true;
  memory.initial_weights.gain = std::sqrt(2.0);
  memory.base_rate = theirs.base_lr;
  memory.rate_order = ttt::RateOrder::by_matrix;
  return config;
}

nn::FeedForwardOptions translate(const AuthorsNvsMlp& theirs, int64_t model_dim) {
  return {nn::FeedForwardKind::gelu, int64_t(double(model_dim) * theirs.inter_multi), theirs.bias};
}

ForeignNames foreign_names(const AuthorsNvsAttention& theirs) {
  ForeignNames names;
  names.linear("to_qkv", "projection.qkv", theirs.bias);
  names.linear("c_proj", "projection.output", theirs.bias);
  if (theirs.use_qk_norm) {
    names.same("q_norm.weight", "core.q_norm.weight");
    names.same("k_norm.weight", "core.k_norm.weight");
  }
  return names;
}

ForeignNames foreign_names(const AuthorsNvsLact& theirs) {
  ForeignNames names;
  names.linear("to_qkv", "projection.qkv", theirs.bias);
  names.linear("c_proj", "projection.output", theirs.bias);
  names.transposed("w0", "core.initial_weights.gate");
  names.transposed("w1", "core.initial_weights.down");
  names.transposed("w2", "core.initial_weights.up");
  names.linear("lr_fc", "core.rate", true);
  names.same("o_norm.weight", "core.norm.weight");
  return names;
}

ForeignNames foreign_names(const AuthorsNvsMlp& theirs) {
  ForeignNames names;
  names.linear("c_fc", "up", theirs.bias);
  names.linear("c_proj", "down", theirs.bias);
  return names;
}

std::shared_ptr<Block> make_block(const AuthorsNvsBlock& theirs, int64_t model_dim) {
  const nn::NormOptions norm = {nn::NormKind::layer, 1e-5};
  return std::make_shared<Block>(
      model_dim, norm,
      std::vector<std::shared_ptr<Mixer>>{make_layer(model_dim, translate(theirs.attention, model_dim)),
                                          make_layer(model_dim, translate(theirs.lact, model_dim))},
      translate(theirs.mlp, model_dim));
}

ForeignNames foreign_names(const AuthorsNvsBlock& theirs) {
  ForeignNames names;
  const auto add = [&](const std::string& index, const std::string& ours, const ForeignNames& layer) {
    names.same("module_list." + index + ".ln.weight", ours + "_norm.weight");
    names.nest("module_list." + index + ".f.", ours + ".", layer);
  };
  add("0", "mixer0", foreign_names(theirs.attention));
  add("1", "mixer1", foreign_names(theirs.lact));
  add("2", "feed_forward", foreign_names(theirs.mlp));
  return names;
}

}  // namespace lact::models
