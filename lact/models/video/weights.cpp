#include "lact/models/video/weights.h"

#include "lact/base/error.h"
#include "lact/models/common/config_checks.h"
#include "lact/models/video/embeddings.h"

namespace lact::models {

namespace {

/// Self-attention and cross-attention alike.
ForeignNames wan_attention_names(bool qk_norm) {
  ForeignNames names;
  int64_t index = 0;
  for (const std::string part : {"q", "k", "v"}) {
    names.rows(part + ".weight", "projection.qkv.weight", index, 3);
    names.rows(part + ".bias", "projection.qkv.bias", index, 3);
    ++index;
  }
  names.linear("o", "projection.output", true);
  if (qk_norm) {
    names.same("norm_q.weight", "projection.q_norm.weight");
    names.same("norm_k.weight", "projection.k_norm.weight");
  }
  return names;
}

/// What LaCT adds to the self-attention.
ForeignNames lact_names(const ttt::LactConfig& memory) {
  ForeignNames names;
  names.transposed("qk_scale", "qk_scale");
  names.transposed("qk_offset", "qk_shift");
  names.same("w0", "memory.initial_weights.gate");
  names.same("w1", "memory.initial_weights.down");
  names.same("w2", "memory.initial_weights.up");
  names.linear("lr_proj", "memory.rate", memory.rate_bias);
  if (memory.update.momentum) names.linear("momentum_proj.0", "memory.momentum", true);
  if (memory.output_norm) names.same("output_norm.weight", "memory.norm.weight");
  if (memory.output_scale != ttt::OutputScale::none) names.linear("ttt_scale_proj", "memory.scale", true);
  return names;
}

}  // namespace

HybridLayerConfig translate(const AuthorsVideoLayer& theirs) {
  LACT_CHECK(theirs.fw_head_dim > 0 && theirs.dim % theirs.fw_head_dim == 0,
             "[video] fw_head_dim {} does not divide dim {}", theirs.fw_head_dim, theirs.dim);
  const ops::RopeOptions rope = {10000, ops::RopePairs::neighbours};

  HybridLayerConfig config = video_layer(theirs.num_heads, theirs.dim / theirs.fw_head_dim);
  config.memory = {};
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
  ForeignNames names = wan_attention_names(theirs.qk_norm);
  names.nest("", "", lact_names(translate(theirs).memory));
  return names;
}

VideoConfig translate(const WanModel& theirs) {
  constexpr int64_t kSmallerWan = 1536;
  LACT_CHECK(theirs.model_type == "t2v", "[video] model_type is {}, expected t2v: text to video",
             theirs.model_type);
  check_size("dim", theirs.dim);
  VideoConfig config;
  config.model_dim = theirs.dim;
  config.num_layers = theirs.num_layers;
  const bool small = theirs.dim <= kSmallerWan;
  int64_t memory_heads = small ? 2 : (theirs.dim + kSmallerWan - 1) / kSmallerWan;
  while (theirs.dim % memory_heads != 0) ++memory_heads;
  config.layer = video_layer(theirs.num_heads, memory_heads, small ? 2 : 1);
  config.cross_attention.num_heads = theirs.num_heads;
  config.feed_forward.hidden_dim = theirs.ffn_dim;
  config.norm_epsilon = config.cross_norm.epsilon = theirs.eps;
  config.layer.projection.qk_norm_epsilon = config.cross_attention.projection.qk_norm_epsilon = theirs.eps;
  config.text_dim = theirs.text_dim;
  config.text_length = theirs.text_len;
  config.frequency_dim = theirs.freq_dim;
  config.in_channels = theirs.in_dim;
  config.out_channels = theirs.out_dim;
  config.patch = theirs.patch_size;
  return config;
}

VideoConfig translate(const WanModel& theirs, const AuthorsVideoLayer& layer) {
  LACT_CHECK(layer.dim == theirs.dim && layer.num_heads == theirs.num_heads,
             "[video] the layer has {} heads of width {} together, expected those of the model, {} and {}",
             layer.num_heads, layer.dim, theirs.num_heads, theirs.dim);
  VideoConfig config = translate(theirs);
  config.layer = translate(layer);
  return config;
}

ForeignNames foreign_names(const VideoConfig& config) {
  const int64_t width = config.model_dim;
  ForeignNames block, names;
  block.shaped("modulation", "modulation", {1, kBlockModulations, width});
  block.nest("self_attn.", "mixer.", wan_attention_names(config.layer.projection.qk_norm));
  block.nest("cross_attn.", "cross_attention.",
             wan_attention_names(config.cross_attention.projection.qk_norm));
  block.linear("norm3", "cross_norm", config.cross_norm.bias);
  block.linear("ffn.0", "feed_forward.up", config.feed_forward.bias);
  block.linear("ffn.2", "feed_forward.down", config.feed_forward.bias);

  names.shaped("patch_embedding.weight", "patch_embedding.weight",
               {width, config.in_channels, config.patch.at(0), config.patch.at(1), config.patch.at(2)});
  names.same("patch_embedding.bias", "patch_embedding.bias");
  names.linear("text_embedding.0", "text_embedding.in", true);
  names.linear("text_embedding.2", "text_embedding.out", true);
  names.linear("time_embedding.0", "time_embedding.in", true);
  names.linear("time_embedding.2", "time_embedding.out", true);
  names.linear("time_projection.1", "time_embedding.projection", true);
  ForeignNames with_lact = block;
  with_lact.nest("self_attn.", "mixer.", lact_names(config.layer.memory));
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const bool lact = config.mixer.kind_of(i) == MixerKind::lact;
    names.nest(fmt::format("blocks.{}.", i), fmt::format("block{}.", i), lact ? with_lact : block);
  }
  names.linear("head.head", "head", true);
  names.shaped("head.modulation", "head_modulation", {1, kHeadModulations, width});
  return names;
}

bool is_self_attention_parameter(const std::string& name) {
  return name.find(".mixer.") != std::string::npos;
}

bool is_memory_parameter(const std::string& name) {
  const auto holds = [&](const char* part) { return name.find(part) != std::string::npos; };
  return holds(".mixer.memory.") || holds(".mixer.qk_scale") || holds(".mixer.qk_shift");
}

}  // namespace lact::models
