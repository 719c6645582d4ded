// Wan 2.1 and the authors' video model, which is Wan with LaCT in its self-attention: constructor arguments
// and parameter names, translated to ours.
#pragma once

#include <string>
#include <vector>

#include "lact/models/common/foreign.h"
#include "lact/models/video/config.h"

namespace lact::models {

/// Arguments of the authors' layer that change its numbers, under their names and with their defaults.
struct AuthorsVideoLayer {
  int64_t dim = 0;
  int64_t num_heads = 0;
  bool qk_norm = true;
  bool o_norm = true;
  int64_t fw_head_dim = 0;
  double inter_multi = 1;
  int64_t lr_dim = 1;
  bool qk_l2_norm = true;
  bool qkv_silu = false;
  bool l2_norm_before_silu = true;
  bool use_momentum = false;
  bool use_moun = false;
  int64_t num_moun_iters = 5;
  bool weight_norm = true;
  double ttt_scale = 1;
  bool learnable_ttt_scale = true;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("dim", dim, "model width");
    field("num_heads", num_heads, "attention heads");
    field("qk_norm", qk_norm, "RMS-norm of q and k over the model width");
    field("o_norm", o_norm, "RMS-norm of the fast-weight output per head");
    field("fw_head_dim", fw_head_dim, "width of a fast-weight head");
    field("inter_multi", inter_multi, "hidden width / head width of the fast-weight network");
    field("lr_dim", lr_dim, "rates per token, head and matrix");
    field("qk_l2_norm", qk_l2_norm, "L2-normalise the fast q and k");
    field("qkv_silu", qkv_silu, "SiLU on the fast q, k, v");
    field("l2_norm_before_silu", l2_norm_before_silu, "order of these two");
    field("use_momentum", use_momentum, "momentum");
    field("use_moun", use_moun, "Muon");
    field("num_moun_iters", num_moun_iters, "Newton-Schulz steps");
    field("weight_norm", weight_norm, "restore the norms of the fast weights");
    field("ttt_scale", ttt_scale, "constant factor of the output, without a learned one");
    field("learnable_ttt_scale", learnable_ttt_scale, "learned factor, one per token");
  }
};

HybridLayerConfig translate(const AuthorsVideoLayer& theirs);
ForeignNames foreign_names(const AuthorsVideoLayer& theirs);

/// Arguments of Wan's transformer under its names, which are those of the config.json of a published folder.
struct WanModel {
  std::string model_type = "t2v";
  std::vector<int64_t> patch_size = {1, 2, 2};
  int64_t text_len = 512;
  int64_t in_dim = 16;
  int64_t dim = 2048;
  int64_t ffn_dim = 8192;
  int64_t freq_dim = 256;
  int64_t text_dim = 4096;
  int64_t out_dim = 16;
  int64_t num_heads = 16;
  int64_t num_layers = 32;
  double eps = 1e-6;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("model_type", model_type, "t2v: text to video");
    field("patch_size", patch_size, "latent frames, rows and columns that form a token");
    field("text_len", text_len, "tokens of a text");
    field("in_dim", in_dim, "channels of the latent video");
    field("dim", dim, "model width");
    field("ffn_dim", ffn_dim, "hidden width of the feed-forward network");
    field("freq_dim", freq_dim, "channels of the sinusoidal time embedding");
    field("text_dim", text_dim, "channels of the text encoder's output");
    field("out_dim", out_dim, "channels of the velocity");
    field("num_heads", num_heads, "attention heads");
    field("num_layers", num_layers, "blocks");
    field("eps", eps, "epsilon of the norms");
  }
};

/// With the memory of the presets: up to the width of the 1.3B model its two heads with twice as many hidden
/// channels, above it as few heads as are at most that wide, as the 14B model has.
VideoConfig translate(const WanModel& theirs);
/// With the authors' layer.
VideoConfig translate(const WanModel& theirs, const AuthorsVideoLayer& layer);

/// Wan's names and, for LaCT, the authors'. They may not cover a model that their code cannot express.
ForeignNames foreign_names(const VideoConfig& config);

/// By our name of a parameter: what a memory such as LaCT adds to Wan, and everything of the layer that was
/// Wan's self-attention, the memory included.
bool is_memory_parameter(const std::string& name);
bool is_self_attention_parameter(const std::string& name);

}  // namespace lact::models
