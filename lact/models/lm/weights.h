// The authors' language model and its layer: their config and parameter names, translated to ours and back.
#pragma once

#include <optional>

#include "lact/base/options.h"
#include "lact/models/common/foreign.h"
#include "lact/models/lm/config.h"

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

/// The whole model's config.json, under their names and with their defaults.
struct AuthorsLm {
  AuthorsLm();

  AuthorsLmLayer layer;
  int64_t num_hidden_layers = 24;
  int64_t vocab_size = 32000;
  std::optional<int64_t> hidden_ratio;  ///< 4 if there is none
  std::optional<int64_t> intermediate_size;
  std::string hidden_act = "swish";
  double initializer_range = 0.006;
  double norm_eps = 1e-6;
  bool tie_word_embeddings = false;

  template <class Visitor>
  void visit(Visitor&& field) {
    layer.visit(field);
    field("num_hidden_layers", num_hidden_layers, "blocks");
    field("vocab_size", vocab_size, "tokens of the vocabulary");
    field("hidden_ratio", hidden_ratio, "width of the feed-forward network if intermediate_size is null");
    field("intermediate_size", intermediate_size, "width of the feed-forward network");
    field("hidden_act", hidden_act, "swish: a SwiGLU feed-forward");
    field("initializer_range", initializer_range, "standard deviation of the initial weights");
    field("norm_eps", norm_eps, "epsilon of the blocks' norms");
    field("tie_word_embeddings", tie_word_embeddings, "the output head shares the embeddings");
  }
};

/// Reads a config.json. Keys that do not change the numbers (kernel choices, token ids, library versions) are
/// skipped, and those that have one meaning here must have it; any other unknown key is an error. Errors name
/// `file`.
AuthorsLm read_authors_lm(const options::Json& json, const std::string& file);

LmConfig translate(const AuthorsLm& theirs);

/// Their config for this model; nothing if their code has no words for it.
std::optional<AuthorsLm> to_authors(const LmConfig& config);

ForeignNames foreign_names(const AuthorsLm& theirs);

}  // namespace lact::models
