// The layers that blocks are made of, each as what it adds to a block's work, its kept bytes and its
// messages. Elementwise steps are counted as reads and writes of whole tensors; what is kept is what the
// fused operations of this library save for their backward passes.
#pragma once

#include "lact/models/plan/workload.h"

namespace lact::models::plan {

/// What a layer has to know of one sequence.
struct Tokens {
  double all = 0;           ///< that pass through the layer
  double written = 0;       ///< into the fast weights
  double updates = 0;       ///< of the fast weights
  double window_pairs = 0;  ///< of query and key in the layer's window
  double all_pairs = 0;     ///< in full attention
  double window_keys = 0;   ///< keys before or beside the pieces of a sequence that their windows see
  double pieces = 1;        ///< chunks of the sequence
};

/// Adds layers to a block. `type` is the bytes of the compute type, `residual` those of the tokens between
/// blocks.
class BlockBuilder {
 public:
  BlockBuilder(int64_t model_dim, const Tokens& tokens, double type, double residual);

  /// Norm before a branch and the sum behind it; `modulated` as a video's.
  void branch(bool modulated = false);
  void projections(const char* name, const ProjectionConfig& config);
  void window_attention(const attention::AttentionConfig& config);
  void full_attention(const attention::AttentionConfig& config);
  /// `beside`: its result is added to window attention's; `rescaled`: q and k have a scale and shift.
  void memory(const ttt::LactConfig& config, bool beside, bool rescaled);
  void recurrence(const std::vector<CostPart>& cost);
  void cross_attention(const CrossAttentionConfig& config, int64_t text_tokens);
  void feed_forward(const nn::FeedForwardOptions& options);

  BlockWork done(int64_t count, double parameters);

 private:
  double tensor(double widths) const { return widths * width_ * tokens_.all * type_; }
  void attention(const char* name, const attention::AttentionConfig& config, double pairs, double keys);
  void add(const WorkPart& part) { block_.parts.push_back(part); }

  double width_;
  Tokens tokens_;
  double type_, residual_;
  BlockWork block_;
};

}  // namespace lact::models::plan
