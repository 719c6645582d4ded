#include "lact/models/lm/weights.h"

#include "lact/base/error.h"

namespace lact::models {

HybridLayerConfig translate(const AuthorsLmLayer& theirs) {
  LACT_CHECK(theirs.lr_parameterization == "mamba", "[lm] lr_parameterization is \"{}\", expected mamba",
             theirs.lr_parameterization);
  LACT_CHECK(theirs.ttt_loss_type == "dot_product", "[lm] ttt_loss_type is \"{}\", expected dot_product",
             theirs.ttt_loss_type);
  const ops::RopeOptions rope = {theirs.rope_theta, ops::RopePairs::halves};

  HybridLayerConfig config;
  config.projection = {.qkv_bias = theirs.qkv_bias, .qk_norm = theirs.attn_qk_norm, .qk_norm_epsilon = 1e-5};
  config.attention.num_heads = theirs.num_attn_heads;
  config.attention.rope = rope;
  config.rescaled = Rescaled::memory;

  auto& memory = config.memory;
  memory.num_heads = theirs.num_lact_heads;
  memory.hidden_multiple = theirs.inter_multi;
  memory.update.momentum = theirs.use_momentum;
  memory.update.muon = theirs.use_muon;
  memory.update.newton_schulz.coefficients = ops::Coefficients::variable;
  memory.update.norm_placement = theirs.ttt_prenorm ? ttt::NormPlacement::pre : ttt::NormPlacement::post;
  if (theirs.w0_w2_low_rank > 0) memory.initial_weights = {theirs.w0_w2_low_rank, theirs.fw_init_gain};

  memory.prepare_qk.clear();
  if (theirs.qkv_silu) memory.prepare_qk.push_back(ttt::Preparation::silu);
  memory.prepare_qk.push_back(ttt::Preparation::l2_norm);
  if (!theirs.ttt_nope) memory.prepare_qk.push_back(ttt::Preparation::rope);
  memory.silu_v = theirs.qkv_silu && !theirs.no_v_silu;
  memory.rope = rope;
  memory.rope_heads = theirs.num_attn_heads;
  memory.rate_channels = theirs.lr_dim;
  memory.output_scale = theirs.learnable_ttt_scale ? ttt::OutputScale::per_head : ttt::OutputScale::none;
  return config;
}

ForeignNames foreign_names(const AuthorsLmLayer& theirs) {
  ForeignNames names;
  names.linear("qkv", "projection.qkv", theirs.qkv_bias);
  names.linear("o_proj", "projection.output", false);
  if (theirs.attn_qk_norm) {
    names.same("q_norm.weight", "projection.q_norm.weight");
    names.same("k_norm.weight", "projection.k_norm.weight");
  }
  names.transposed("qk_scale", "qk_scale");
  names.transposed("qk_offset", "qk_shift");
  const std::string initial = "memory.initial_weights.";
  for (const auto& [foreign, ours] : {std::pair{"w0", "gate"}, {"w2", "up"}}) {
    if (theirs.w0_w2_low_rank > 0) {
      names.same(std::string(foreign) + ".w_left", initial + ours + "_left");
      names.same(std::string(foreign) + ".w_right", initial + ours + "_right");
    } else {
      names.same(foreign, initial + ours);
    }
  }
  names.same("w1", initial + "down");
  names.linear("lr_proj", "memory.rate", true);
  if (theirs.use_momentum) names.linear("momentum_proj.0", "memory.momentum", true);
  names.same("ttt_norm.weight", "memory.norm.weight");
  if (theirs.learnable_ttt_scale) names.linear("ttt_scale_proj", "memory.scale", true);
  return names;
}

}  // namespace lact::models
