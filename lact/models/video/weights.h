// The authors' video layer (Wan self-attention with LaCT): constructor arguments and parameter names,
// translated to ours.
#pragma once

#include <optional>

#include "lact/models/common/foreign.h"
#include "lact/models/common/layers.h"

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

}  // namespace lact::models
