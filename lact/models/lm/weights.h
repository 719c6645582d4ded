// The authors' language-model layer: their constructor arguments and parameter names, translated to ours.
#pragma once

#include "lact/models/common/foreign.h"
#include "lact/models/common/layers.h"

namespace lact::models {

/// Arguments of the authors' layer, under their names and with their defaults.
struct AuthorsLmLayer {
  int64_t hidden_size = 0;
  int64_t num_attn_heads = 0;
  int64_t num_lact_heads = 0;
  double inter_multi = 1;
  int64_t window_size = 0;
  int64_t lact_chunk_size = 0;
  bool qkv_bias = false;
  bool attn_qk_norm = true;
  bool qkv_silu = true;
  bool no_v_silu = false;
  int64_t lr_dim = 1;
  bool use_muon = false;
  std::string lr_parameterization = "mamba";
  bool learnable_ttt_scale = false;
  bool ttt_prenorm = false;
  bool ttt_nope = false;
  double rope_theta = 500000;
  int64_t max_position_embeddings = 2048;
  int64_t w0_w2_low_rank = -1;
  bool use_momentum = false;
  std::string ttt_loss_type = "dot_product";
  double fw_init_gain = 0.5;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("hidden_size", hidden_size, "model width");
    field("num_attn_heads", num_attn_heads, "attention heads");
    field("num_lact_heads", num_lact_heads, "fast-weight heads");
    field("inter_multi", inter_multi, "hidden width / head width of the fast-weight network");
    field("window_size", window_size, "sliding window");
    field("lact_chunk_size", lact_chunk_size, "tokens per update");
    field("qkv_bias", qkv_bias, "biases of q, k, v");
    field("attn_qk_norm", attn_qk_norm, "RMS-norm of q and k");
    field("qkv_silu", qkv_silu, "SiLU on the fast q, k, v");
    field("no_v_silu", no_v_silu, "but not on v");
    field("lr_dim", lr_dim, "rates per token, head and matrix");
    field("use_muon", use_muon, "Muon");
    field("lr_parameterization", lr_parameterization, "mamba: softplus with a bias");
    field("learnable_ttt_scale", learnable_ttt_scale, "scale of the output per head");
    field("ttt_prenorm", ttt_prenorm, "normalise a copy of the fast weights");
    field("ttt_nope", ttt_nope, "no rotary embedding of the fast q and k");
    field("rope_theta", rope_theta, "base of the rotary embedding");
    field("max_position_embeddings", max_position_embeddings,
          "size of their cosine table; no effect on numbers");
    field("w0_w2_low_rank", w0_w2_low_rank, "rank of the initial gate and up matrices; -1 is full");
    field("use_momentum", use_momentum, "momentum");
    field("ttt_loss_type", ttt_loss_type, "dot_product");
    field("fw_init_gain", fw_init_gain, "gain of the low-rank factors");
  }
};

HybridLayerConfig translate(const AuthorsLmLayer& theirs);

/// Their parameter names for a layer made from translate(theirs).
ForeignNames foreign_names(const AuthorsLmLayer& theirs);

}  // namespace lact::models
