// The authors' view-synthesis model: their constructor arguments and parameter names, translated to ours.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lact/base/options.h"
#include "lact/models/common/block.h"
#include "lact/models/common/foreign.h"
#include "lact/models/nvs/config.h"

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

/// The three parts of their "block_config" list, in this order, each with the tokens that it sees
/// ("length_dim": those of a view, l, or of all views, vl); `path` is for errors.
AuthorsNvsBlock read_authors_nvs_block(const options::Json& json, const std::string& path);

std::shared_ptr<Block> make_block(const AuthorsNvsBlock& theirs, int64_t model_dim);
ForeignNames foreign_names(const AuthorsNvsBlock& theirs);

/// Their whole model.
struct AuthorsNvsModel {
  int64_t patch_size = 8;
  int64_t dim = 0;
  int64_t layers = 0;
  AuthorsNvsBlock block;
};

/// {"patch_size", "dim", "layers", "block_config"}
AuthorsNvsModel read_authors_nvs(const options::Json& json, const std::string& path);

NvsConfig translate(const AuthorsNvsModel& theirs);
ForeignNames foreign_names(const AuthorsNvsModel& theirs);

/// Nothing if their code has no words for this model.
std::optional<AuthorsNvsModel> to_authors(const NvsConfig& config);

/// The sizes of a checkpoint that comes without a config, from the shapes of its tensors; what shapes do not
/// tell, rates and Newton-Schulz steps, is as published. Throws, naming `file`, if it is not such a model.
AuthorsNvsModel sizes_of_checkpoint(const std::map<std::string, at::Tensor>& tensors,
                                    const std::string& file);

}  // namespace lact::models
