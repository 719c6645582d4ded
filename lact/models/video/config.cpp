#include "lact/models/video/config.h"

#include "lact/base/error.h"
#include "lact/models/common/config_checks.h"

namespace lact::models {

namespace {

/// Two linear layers with a nonlinearity between them.
CostPart embedding_parameters(const char* name, int64_t in, int64_t width) {
  return {name, linear_cost("", in, width, true).parameters + linear_cost("", width, width, true).parameters};
}

CostPart cross_attention_cost(const VideoConfig& config) {
  const auto width = double(config.model_dim);
  CostPart part = projection_cost("cross attention", config.model_dim, config.cross_attention.projection);
  part.flops =
      2 * 2 * width * width + 2 * 2 * double(config.text_length) * width;  // q and output; q·k and p·v
  return part;
}

}  // namespace

HybridLayerConfig video_layer(int64_t attention_heads, int64_t memory_heads, double hidden_multiple) {
  const ops::RopeOptions rope = {.base = 10000, .pairs = ops::RopePairs::neighbours};
  HybridLayerConfig layer;
  layer.projection = {.qkv_bias = true, .output_bias = true, .qk_norm = true, .qk_norm_epsilon = 1e-6};
  layer.attention.num_heads = attention_heads;
  layer.attention.rope = rope;
  layer.rescaled = Rescaled::memory;
  layer.gla.num_heads = memory_heads;
  layer.deltanet.num_heads = layer.mamba2.num_heads = attention_heads;
  layer.ttt = ttt::original_ttt(attention_heads);
  layer.ttt.rope = rope;
  layer.ttt.output_norm_epsilon = 1e-6;
  layer.ttt.output_scale = OutputScale::per_token;
  layer.ttt.zero_output_scale = true;
  layer.gla.output = layer.deltanet.output =
      layer.mamba2.output = {.norm_epsilon = 1e-6, .scale = OutputScale::per_token, .zero_scale = true};

  auto& memory = layer.memory;
  memory.num_heads = memory_heads;
  memory.hidden_multiple = hidden_multiple;
  memory.prepare_qk = {ttt::Preparation::rope, ttt::Preparation::l2_norm};
  memory.silu_v = false;
  memory.rope = rope;
  memory.rope_heads = attention_heads;
  memory.base_rate = 0.001;
  memory.rate_bias = true;
  memory.output_norm_epsilon = 1e-6;
  memory.output_scale = ttt::OutputScale::per_token;
  memory.zero_output_scale = true;
  return layer;
}

ChunkGrid VideoConfig::grid() const {
  return {chunk_frames / patch.at(0), latent_height / patch.at(1), latent_width / patch.at(2)};
}

int64_t VideoConfig::patch_size() const { return patch.at(0) * patch.at(1) * patch.at(2); }

void VideoConfig::check() const {
  check_size("model_dim", model_dim);
  check_size("num_layers", num_layers, kMostLayers);
  check_mixer("a video model", mixer, num_layers,
              {MixerKind::lact, MixerKind::full, MixerKind::window, MixerKind::gla, MixerKind::deltanet,
               MixerKind::mamba2, MixerKind::ttt});
  check_layer("layer", model_dim, mixer, layer);
  LACT_CHECK(
      layer.projection.conv_width == 0,
      "[config] layer.projection.conv_width is {}, expected 0: the order of a video's tokens is not causal",
      layer.projection.conv_width);
  check_heads("cross_attention.num_heads", cross_attention.num_heads, model_dim);
  check_projection("cross_attention.projection", cross_attention.projection);
  check_norm("cross_norm", cross_norm);
  check_feed_forward("feed_forward", feed_forward);
  check_positive("norm_epsilon", norm_epsilon);
  check_size("text_dim", text_dim);
  check_size("text_length", text_length);
  check_size("frequency_dim", frequency_dim);
  LACT_CHECK(frequency_dim % 2 == 0,
             "[config] frequency_dim is {}, expected an even number: cosines and sines", frequency_dim);
  check_size("in_channels", in_channels);
  check_size("out_channels", out_channels);
  LACT_CHECK(prediction == FlowPrediction::velocity || in_channels == out_channels,
             "[config] prediction is clean, but a chunk of {} channels is read and one of {} is answered",
             in_channels, out_channels);

  LACT_CHECK(patch.size() == 3, "[config] patch has {} numbers, expected frames, rows and columns",
             patch.size());
  const std::pair<const char*, int64_t> sides[] = {
      {"chunk_frames", chunk_frames}, {"latent_height", latent_height}, {"latent_width", latent_width}};
  for (size_t i = 0; i < patch.size(); ++i) {
    const auto& [name, length] = sides[i];
    check_size("patch." + std::to_string(i), patch[i], kLargestPatch);
    check_size(name, length);
    LACT_CHECK(length % patch[i] == 0, "[config] {} is {}, which does not divide into patches of {}", name,
               length, patch[i]);
  }
  LACT_CHECK(visible_clean >= -1 && visible_clean <= grid().tokens(),
             "[config] visible_clean is {}, expected -1 (all) or 0 to the {} tokens of a chunk",
             visible_clean, grid().tokens());
}

ModelCost cost(const VideoConfig& config, const ClipLength& clip) {
  LACT_CHECK(clip.chunks > 0, "[video] a clip of {} chunks, expected at least 1", clip.chunks);
  const int64_t width = config.model_dim, tokens = config.grid().tokens();
  const int64_t clean = config.visible_clean < 0 ? tokens : config.visible_clean;
  ModelCost all;
  all.model_dim = width;
  all.num_layers = config.num_layers;
  all.around = {.attended = double(tokens + (clip.chunks > 1 ? clean : 0)),
                .chunk = double(tokens),
                .everything = double(clip.chunks * tokens)};
  all.blocks = block_costs(config.mixer, config.num_layers, [&](MixerKind kind) {
    BlockCost block;
    block.parts = layer_cost(width, kind, config.layer, all.around);
    block.parts.push_back(cross_attention_cost(config));
    block.parts.push_back(feed_forward_cost(width, config.feed_forward));
    block.parts.push_back(norm_cost("norm of the cross attention", width, config.cross_norm));
    block.parts.push_back(
        {"modulation", 6 * width});  // shift, scale and gate of the mixer and of the feed-forward
    block.memory = fast_weight_cost(width, kind, config.layer);
    block.kept_tokens = double(kind == MixerKind::full ? (clip.chunks - 1) * tokens : clean);
    return block;
  });

  all.others = {linear_cost("patch embedding", config.in_channels * config.patch_size(), width, true),
                embedding_parameters("text embedding", config.text_dim, width),
                embedding_parameters("time embedding", config.frequency_dim, width),
                {"time projection", linear_cost("", width, 6 * width, true).parameters},
                {"head modulation", 2 * width},
                linear_cost("head", width, config.out_channels * config.patch_size(), true)};
  return all;
}

}  // namespace lact::models
