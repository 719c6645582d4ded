#include "lact/models/lm/weights.h"

#include <set>
#include <tuple>

#include "lact/base/error.h"

namespace lact::models {

HybridLayerConfig translate(const AuthorsLmLayer& theirs) {
  LACT_CHECK(theirs.lr_parameterization == "mamba", "[lm] lr_parameterization is \"{}\", expected mamba",
             theirs.lr_parameterization);
  LACT_CHECK(theirs.ttt_loss_type == "dot_product", "[lm] ttt_loss_type is \"{}\", expected dot_product",
             theirs.ttt_loss_type);
  const ops::RopeOptions rope = {theirs.rope_theta, ops::RopePairs::halves};

  HybridLayerConfig config = lm_layer(theirs.num_attn_heads, theirs.num_lact_heads);
  config.memory = {};
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

AuthorsLm::AuthorsLm() {
  layer.hidden_size = 2048;
  layer.num_attn_heads = 32;
  layer.num_lact_heads = 4;
  layer.lact_chunk_size = layer.window_size = 2048;
  layer.attn_qk_norm = false;
  layer.learnable_ttt_scale = true;
  layer.use_momentum = true;
  layer.rope_theta = 10000;
}

AuthorsLm read_authors_lm(const options::Json& json, const std::string& file) {
  static const std::set<std::string> without_effect = {"_attn_implementation_autoset",
                                                       "_name_or_path",
                                                       "architectures",
                                                       "auto_map",
                                                       "bos_token_id",
                                                       "dtype",
                                                       "eos_token_id",
                                                       "fp32_states",
                                                       "fuse_norm",
                                                       "fuse_cross_entropy",
                                                       "fuse_swiglu",
                                                       "head_dim",
                                                       "pad_token_id",
                                                       "model_type",
                                                       "last_layer_fuse_norm",
                                                       "torch_dtype",
                                                       "use_cache",
                                                       "transformers_version",
                                                       "use_fused_kernel"};
  options::Json known = json;
  for (const auto& key : without_effect) known.erase(key);
  // Keys of one possible value, and why.
  static const std::tuple<const char*, bool, const char*> fixed[] = {
      {"attention_bias", false, "biases of q, k and v are qkv_bias, and the output has none"},
      {"elementwise_affine", true, "norms have weights"}};
  for (const auto& [key, expected, why] : fixed) {
    LACT_CHECK(!known.contains(key) || known[key] == expected, "{}: {} is {}, expected {}: {}", file, key,
               known[key].dump(), expected, why);
    known.erase(key);
  }
  AuthorsLm theirs;
  try {
    options::read(known, theirs);
  } catch (const Error& error) {
    fail("{}: {}", file, error.what());
  }
  LACT_CHECK(theirs.hidden_act == "swish" || theirs.hidden_act == "silu",
             "{}: hidden_act is \"{}\", expected swish", file, theirs.hidden_act);
  const auto& layer = theirs.layer;
  const auto divides = [&](int64_t heads) { return heads > 0 && layer.hidden_size % heads == 0; };
  LACT_CHECK(divides(layer.num_attn_heads),
             "{}: num_attn_heads is {}, expected a divisor of hidden_size {}{}", file, layer.num_attn_heads,
             layer.hidden_size,
             divides(theirs.num_hidden_layers)
                 ? fmt::format("; num_hidden_layers is {}: are the two exchanged?", theirs.num_hidden_layers)
                 : "");
  return theirs;
}

LmConfig translate(const AuthorsLm& theirs) {
  LmConfig config;
  config.vocabulary_size = theirs.vocab_size;
  config.model_dim = theirs.layer.hidden_size;
  config.num_layers = theirs.num_hidden_layers;
  config.layer = translate(theirs.layer);
  // Rounded up to a multiple of 256, from two thirds of the ratio.
  const int64_t hidden =
      (theirs.layer.hidden_size * theirs.hidden_ratio.value_or(4) * 2 / 3 + 255) / 256 * 256;
  config.feed_forward = {nn::FeedForwardKind::swiglu, theirs.intermediate_size.value_or(hidden)};
  config.norm = {nn::NormKind::rms, theirs.norm_eps};
  config.chunk_size = theirs.layer.lact_chunk_size;
  config.window_size = theirs.layer.window_size;
  config.tie_embeddings = theirs.tie_word_embeddings;
  config.init_std = theirs.initializer_range;
  return config;
}

std::optional<AuthorsLm> to_authors(const LmConfig& config) {
  const auto& memory = config.layer.memory;
  const auto has = [&](ttt::Preparation step) {
    return std::count(memory.prepare_qk.begin(), memory.prepare_qk.end(), step) > 0;
  };
  AuthorsLm theirs;
  auto& layer = theirs.layer;
  layer.hidden_size = config.model_dim;
  layer.num_attn_heads = config.layer.attention.num_heads;
  layer.num_lact_heads = memory.num_heads;
  layer.inter_multi = memory.hidden_multiple;
  layer.window_size = config.window_size;
  layer.lact_chunk_size = config.chunk_size;
  layer.qkv_bias = config.layer.projection.qkv_bias;
  layer.attn_qk_norm = config.layer.projection.qk_norm;
  layer.qkv_silu = has(ttt::Preparation::silu);
  layer.no_v_silu = layer.qkv_silu && !memory.silu_v;
  layer.lr_dim = memory.rate_channels;
  layer.use_muon = memory.update.muon;
  layer.learnable_ttt_scale = memory.output_scale == ttt::OutputScale::per_head;
  layer.ttt_prenorm = memory.update.norm_placement == ttt::NormPlacement::pre;
  layer.ttt_nope = !has(ttt::Preparation::rope);
  layer.rope_theta = config.layer.attention.rope.value_or(ops::RopeOptions{}).base;
  if (memory.initial_weights.rank > 0) {
    layer.w0_w2_low_rank = memory.initial_weights.rank;
    layer.fw_init_gain = memory.initial_weights.gain;
  }
  layer.use_momentum = memory.update.momentum;
  theirs.num_hidden_layers = config.num_layers;
  theirs.vocab_size = config.vocabulary_size;
  theirs.intermediate_size = config.feed_forward.hidden_dim;
  theirs.initializer_range = config.init_std;
  theirs.norm_eps = config.norm.epsilon;
  theirs.tie_word_embeddings = config.tie_embeddings;
  if (translate(theirs) == config) return theirs;
  return std::nullopt;
}

ForeignNames foreign_names(const AuthorsLm& theirs) {
  ForeignNames block;
  block.same("attn_norm.weight", "mixer0_norm.weight");
  block.nest("attn.", "mixer0.", foreign_names(theirs.layer));
  block.same("mlp_norm.weight", "feed_forward_norm.weight");
  for (const std::string part : {"gate", "up", "down"}) {
    block.linear("mlp." + part + "_proj", "feed_forward." + part, false);
  }
  ForeignNames names;
  names.same("model.embeddings.weight", "embeddings");
  for (int64_t i = 0; i < theirs.num_hidden_layers; ++i) {
    names.nest(fmt::format("model.layers.{}.", i), fmt::format("block{}.", i), block);
  }
  names.same("model.norm.weight", "norm.weight");
  if (!theirs.tie_word_embeddings) names.linear("lm_head", "head", false);
  return names;
}

}  // namespace lact::models
