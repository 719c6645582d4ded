#include "lact/models/video/weights.h"

#include "lact/base/error.h"

namespace lact::models {

HybridLayerConfig translate(const AuthorsVideoLayer& theirs) {
  LACT_CHECK(theirs.fw_head_dim > 0 && theirs.dim % theirs.fw_head_dim == 0,
             "[video] fw_head_dim {} does not divide dim {}", theirs.fw_head_dim, theirs.dim);
  const ops::RopeOptions rope = {10000, ops::RopePairs::neighbours};

  HybridLayerConfig config;
  config.projection = {
      .qkv_bias = true, .output_bias = true, .qk_norm = theirs.qk_norm, .qk_norm_epsilon = 1e-6};
  config.attention.num_heads = theirs.num_heads;
  config.attention.rope = rope;
  config.rescaled = Rescaled::memory;

  auto& memory = config.memory;
  memory.num_heads = theirs.dim / theirs.fw_head_dim;
  memory.hidden_multiple = theirs.inter_multi;
  memory.update.momentum = theirs.use_momentum;
  memory.update.muon = theirs.use_moun;
  memory.update.newton_schulz.steps = theirs.num_moun_iters;
  memory.update.norm_placement = theirs.weight_norm ? ttt::NormPlacement::post : ttt::NormPlacement::none;

  memory.prepare_qk = {ttt::Preparation::rope};
  if (theirs.qk_l2_norm) memory.prepare_qk.push_back(ttt::Preparation::l2_norm);
  if (theirs.qkv_silu) {
    const auto place = theirs.l2_norm_before_silu ? memory.prepare_qk.end() : memory.prepare_qk.begin() + 1;
    memory.prepare_qk.insert(place, ttt::Preparation::silu);
  }
  memory.silu_v = theirs.qkv_silu;
  memory.rope = rope;
  memory.rope_heads = theirs.num_heads;
  memory.rate_channels = theirs.lr_dim;
  memory.output_norm = theirs.o_norm;
  memory.output_norm_epsilon = 1e-6;
  if (theirs.learnable_ttt_scale) {
    memory.output_scale = ttt::OutputScale::per_token;
    memory.zero_output_scale = true;
  } else {
    memory.output_factor = theirs.ttt_scale;
  }
  return config;
}

ForeignNames foreign_names(const AuthorsVideoLayer& theirs) {
  ForeignNames names;
  int64_t index = 0;
  for (const std::string part : {"q", "k", "v"}) {
    names.rows(part + ".weight", "projection.qkv.weight", index, 3);
    names.rows(part + ".bias", "projection.qkv.bias", index, 3);
    ++index;
  }
  names.linear("o", "projection.output", true);
  if (theirs.qk_norm) {
    names.same("norm_q.weight", "projection.q_norm.weight");
    names.same("norm_k.weight", "projection.k_norm.weight");
  }
  names.transposed("qk_scale", "qk_scale");
  names.transposed("qk_offset", "qk_shift");
  names.same("w0", "memory.initial_weights.gate");
  names.same("w1", "memory.initial_weights.down");
  names.same("w2", "memory.initial_weights.up");
  names.linear("lr_proj", "memory.rate", true);
  if (theirs.use_momentum) names.linear("momentum_proj.0", "memory.momentum", true);
  if (theirs.o_norm) names.same("output_norm.weight", "memory.norm.weight");
  if (theirs.learnable_ttt_scale) names.linear("ttt_scale_proj", "memory.scale", true);
  return names;
}

}  // namespace lact::models
