#include "lact/models/nvs/weights.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "lact/base/error.h"

namespace lact::models {

namespace {

struct AuthorsNvsSizes {
  int64_t patch_size = 8, dim = 0, layers = 0;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("patch_size", patch_size, "side of a patch");
    field("dim", dim, "width of the model");
    field("layers", layers, "blocks");
  }
};

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

AuthorsNvsBlock read_authors_nvs_block(const options::Json& json, const std::string& path) {
  LACT_CHECK(json.is_array() && json.size() == 3, "{} has {} parts, expected attention, LaCT and MLP", path,
             json.size());
  AuthorsNvsBlock block;
  const auto read_part = [&](size_t index, const std::string& type, const std::string& tokens, auto& part) {
    const std::string here = options::join(path, std::to_string(index));
    const options::Json& given = json[index];
    LACT_CHECK(given.is_object() && given.contains("type"), "{} has no type, expected {}", here, type);
    for (const auto& [key, value] : given.items()) {
      if (key == "params") continue;
      const std::string expected = key == "type" ? type : key == "length_dim" ? tokens : "";
      if (expected.empty()) options::unknown_key(here, key, {"type", "length_dim", "params"});
      LACT_CHECK(value == expected, "{}.{} is {}, expected {}", here, key, value.dump(), expected);
    }
    options::read(given.value("params", options::Json::object()), part, here + ".params");
  };
  read_part(0, "model.SelfAttention", "l", block.attention);
  read_part(1, "lact_ttt.FastWeightGluMLPMultihead", "vl", block.lact);
  read_part(2, "model.MLP", "vl", block.mlp);
  return block;
}

AuthorsNvsModel read_authors_nvs(const options::Json& json, const std::string& path) {
  AuthorsNvsSizes sizes;
  LACT_CHECK(json.is_object() && json.contains("block_config"), "{} has no block_config", path);
  options::Json rest = json;
  rest.erase("block_config");
  options::read(rest, sizes, path);
  return {sizes.patch_size, sizes.dim, sizes.layers,
          read_authors_nvs_block(json["block_config"], options::join(path, "block_config"))};
}

NvsConfig translate(const AuthorsNvsModel& theirs) {
  NvsConfig config;
  config.patch_size = theirs.patch_size;
  config.model_dim = theirs.dim;
  config.num_layers = theirs.layers;
  config.attention = translate(theirs.block.attention, theirs.dim);
  config.lact = translate(theirs.block.lact, theirs.dim);
  config.feed_forward = translate(theirs.block.mlp, theirs.dim);
  return config;
}

ForeignNames foreign_names(const AuthorsNvsModel& theirs) {
  ForeignNames names;
  names.linear("input_linear", "input", false);
  names.same("input_layernorm.weight", "input_norm.weight");
  for (int64_t i = 0; i < theirs.layers; ++i)
    names.nest(fmt::format("blocks.{}.", i), fmt::format("block{}.", i), foreign_names(theirs.block));
  names.same("image_token_decoder.0.weight", "decoder_norm.weight");
  names.linear("image_token_decoder.1", "decoder", false);
  return names;
}

std::optional<AuthorsNvsModel> to_authors(const NvsConfig& config) {
  const auto& [attention, lact] = std::tie(config.attention, config.lact);
  const int64_t width = config.model_dim;
  AuthorsNvsModel theirs = {config.patch_size, width, config.num_layers, {}};
  theirs.block.attention = {.head_dim = width / attention.attention.num_heads,
                            .use_qk_norm = attention.attention.head_norm,
                            .bias = attention.projection.qkv_bias};
  theirs.block.lact = {.head_dim = width / lact.memory.num_heads,
                       .inter_multi = lact.memory.hidden_multiple,
                       .bias = lact.projection.qkv_bias,
                       .base_lr = lact.memory.base_rate,
                       .muon_update_steps = lact.memory.update.newton_schulz.steps};
  theirs.block.mlp = {.inter_multi = double(config.feed_forward.hidden_dim) / double(width),
                      .bias = config.feed_forward.bias};
  NvsConfig meant = translate(theirs);
  // What other mixers would be made of is no part of the model.
  meant.gla = config.gla, meant.deltanet = config.deltanet, meant.mamba2 = config.mamba2;
  meant.perceiver = config.perceiver, meant.long_lrm = config.long_lrm, meant.gaussians = config.gaussians;
  if (!(meant == config)) return std::nullopt;
  return theirs;
}

AuthorsNvsModel sizes_of_checkpoint(const std::map<std::string, at::Tensor>& tensors,
                                    const std::string& file) {
  const auto size = [&](const std::string& name, int64_t dims, int64_t dim) {
    const auto found = tensors.find(name);
    LACT_CHECK(found != tensors.end(), "{}: tensor {} is missing, so it is no view-synthesis model", file,
               name);
    LACT_CHECK(found->second.dim() == dims && found->second.numel() > 0,
               "{}: tensor {} has shape {}, expected {} dimensions", file, name, found->second.sizes().vec(),
               dims);
    return found->second.size(dim);
  };
  AuthorsNvsModel theirs;
  theirs.dim = size("input_linear.weight", 2, 0);
  const int64_t per_patch = size("input_linear.weight", 2, 1) / (kRayChannels + kColorChannels);
  theirs.patch_size = int64_t(std::lround(std::sqrt(double(per_patch))));
  while (tensors.count(fmt::format("blocks.{}.module_list.0.ln.weight", theirs.layers)) > 0) ++theirs.layers;
  const std::string first = "blocks.0.module_list.";
  theirs.block.attention.use_qk_norm = tensors.count(first + "0.f.q_norm.weight") > 0;
  LACT_CHECK(theirs.block.attention.use_qk_norm,
             "{}: attention without norms of q and k does not say how wide its heads are", file);
  theirs.block.attention.head_dim = size(first + "0.f.q_norm.weight", 1, 0);
  theirs.block.lact.head_dim = size(first + "1.f.w0", 3, 1);
  theirs.block.lact.inter_multi = double(size(first + "1.f.w0", 3, 2)) / double(theirs.block.lact.head_dim);
  theirs.block.lact.muon_update_steps = 5;
  theirs.block.mlp.inter_multi = double(size(first + "2.f.c_fc.weight", 2, 0)) / double(theirs.dim);
  return theirs;
}

}  // namespace lact::models
