// The authors' view-synthesis layers: their constructor arguments and parameter names, translated to ours.
#pragma once

#include <vector>

#include "lact/models/common/block.h"
#include "lact/models/common/foreign.h"
#include "lact/models/common/layers.h"

namespace lact::models {

/// Arguments of the authors' three kinds of layers, under their names and with their defaults.
struct AuthorsNvsAttention {
  int64_t head_dim = 0;
  bool use_qk_norm = true;
  bool causal = false;
  bool bias = false;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("head_dim", head_dim, "width of an attention head");
    field("use_qk_norm", use_qk_norm, "RMS-norm of q and k per head");
    field("causal", causal, "causal attention");
    field("bias", bias, "biases of the projections");
  }
};

struct AuthorsNvsLact {
  int64_t head_dim = 0;
  double inter_multi = 1;
  bool bias = false;
  double base_lr = 0.01;
  int64_t muon_update_steps = 0;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("head_dim", head_dim, "width of a fast-weight head");
    field("inter_multi", inter_multi, "hidden width / head width of the fast-weight network");
    field("bias", bias, "biases of the projections");
    field("base_lr", base_lr, "learning rate at initialisation");
    field("muon_update_steps", muon_update_steps,
          "Newton-Schulz steps; 0 still divides by the Frobenius norm");
  }
};

struct AuthorsNvsMlp {
  double inter_multi = 4;
  bool bias = false;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("inter_multi", inter_multi, "hidden width / model width");
    field("bias", bias, "biases of its layers");
  }
};

AttentionLayerConfig translate(const AuthorsNvsAttention& theirs, int64_t model_dim);
LactLayerConfig translate(const AuthorsNvsLact& theirs, int64_t model_dim);
nn::FeedForwardOptions translate(const AuthorsNvsMlp& theirs, int64_t model_dim);

ForeignNames foreign_names(const AuthorsNvsAttention& theirs);
ForeignNames foreign_names(const AuthorsNvsLact& theirs);
ForeignNames foreign_names(const AuthorsNvsMlp& theirs);

/// Their block: attention inside each image, LaCT over all images, MLP.
struct AuthorsNvsBlock {
  AuthorsNvsAttention attention;
  AuthorsNvsLact lact;
  AuthorsNvsMlp mlp;
};

std::shared_ptr<Block> make_block(const AuthorsNvsBlock& theirs, int64_t model_dim);
ForeignNames foreign_names(const AuthorsNvsBlock& theirs);

}  // namespace lact::models
