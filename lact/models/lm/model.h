// The language model of paper section 4.2: embeddings, blocks of window attention + LaCT and feed-forward, a
// final norm, an output head.
#pragma once

#include <torch/nn/module.h>

#include <optional>
#include <vector>

#include "lact/models/common/block.h"
#include "lact/models/lm/config.h"
#include "lact/parallel/world.h"

namespace lact::models {

/// What the model remembers of a text: constant in size, whatever was read. Fast weights and momentum, the
/// window's keys and values, and the tokens of an unfinished chunk, for each block.
struct LmState : State {
  int64_t position = 0;  ///< tokens read so far
  std::vector<std::unique_ptr<BlockState>> blocks;

  void visit(StateVisitor& visitor, const std::string& prefix) override;
  std::unique_ptr<State> clone() const override { return copy(); }
  std::unique_ptr<LmState> copy() const;
  int64_t forgettable() const override;  ///< inside of the chunk
  void forget_last(int64_t tokens) override;
};

/// What one text brings to a call that advances several.
struct TextPiece {
  LmState* state;
  int64_t tokens;
  std::exception_ptr failure =
      {};  ///< out: what went wrong with this text alone; its state is of no more use
};

class LanguageModel : public torch::nn::Module {
 public:
  /// Freshly initialised from LibTorch's random generator.
  explicit LanguageModel(const LmConfig& config);

  const LmConfig& config() const { return config_; }

  /// float32, or bfloat16 for matrix products and activations. Parameters, fast weights and norms stay as
  /// they are.
  void set_compute_type(at::ScalarType type) { compute_type_ = type; }

  /// How states that begin from now on keep the window's keys and values; for inference. `automatic` is the
  /// compute type.
  void set_cache(ops::CacheFormat format);

  /// What the backward pass computes again instead of finding it kept.
  void set_recompute(nn::Recompute what);

  /// Ranks that share the tokens of whole texts: `hidden` then gives those of this rank, own_tokens(ids).
  void set_world(const parallel::World& world);
  /// This rank's part of something that every token of a whole text has, [B, T]; of documents, if there are
  /// lengths.
  at::Tensor own_tokens(const at::Tensor& all, const std::vector<int64_t>& lengths = {}) const;

  /// For inference only: keeps the embeddings, the projections, the feed-forward networks and the head in
  /// fewer bytes. What decides over the memory stays float32: rates, momentum, scales, norms, fast weights.
  /// Such a model can be neither trained nor saved.
  ops::WeightError compress_weights(ops::WeightFormat format);
  /// The same for one parameter, by its name; nothing if it is one of those that stay.
  std::optional<ops::WeightError> compress_weight(const std::string& parameter, ops::WeightFormat format);
  bool is_compressed() const { return compressed_embeddings_.has_value(); }

  /// Whole texts from the learned initial state: ids [B, T] -> hidden states [B, T, M], normed for the head.
  at::Tensor hidden(const at::Tensor& ids, std::vector<at::Tensor>* between_blocks = nullptr);

  /// Several texts in one row, each as it is alone: ids [B, T], where every row holds documents of these
  /// lengths, T tokens in all.
  at::Tensor hidden_of_documents(const at::Tensor& ids, const std::vector<int64_t>& lengths);

  /// hidden states -> logits [..., vocabulary], float32 or wider.
  at::Tensor logits(const at::Tensor& hidden) const;

  /// The matrix of the output head, [vocabulary, M]: its own, or the embeddings.
  const at::Tensor& head_weight() const { return head_ ? head_->weight : embeddings_; }

  at::Tensor forward(const at::Tensor& ids) { return logits(hidden(ids)); }

  /// Continues a text: ids [B, T] of any length T -> hidden states. The same numbers as the whole text at
  /// once.
  at::Tensor advance(const at::Tensor& ids, LmState& state);
  /// The same for several texts, whose tokens stand behind each other: ids [1, T] -> hidden states [1, T, M].
  /// The weights are read once for all; what a text gets does not depend on the others.
  at::Tensor advance_together(const at::Tensor& ids, std::span<TextPiece> texts);
  std::unique_ptr<LmState> initial_state(int64_t batch);

 private:
  at::Tensor embed(const at::Tensor& ids) const;
  /// Of whole texts, shared out among the ranks.
  SequenceLayout whole_layout(int64_t tokens, const std::vector<int64_t>& lengths) const;
  /// Embeddings [B, T, M] of whole texts through all blocks and the norm.
  at::Tensor through_blocks(at::Tensor x, const SequenceLayout& layout,
                            std::vector<at::Tensor>* between_blocks);
  at::Tensor by_embeddings(const at::Tensor& hidden) const;

  LmConfig config_;
  parallel::World world_;
  at::ScalarType compute_type_ = at::kFloat;
  std::shared_ptr<nn::Lender> lender_ = nn::lender_in_scope();  ///< of the blocks' parameters; usually null
  nn::Recompute recompute_ = lender_ ? nn::Recompute::blocks : nn::Recompute::none;
  at::Tensor embeddings_;  ///< [vocabulary, M]; undefined once compressed
  std::optional<ops::CompressedWeight> compressed_embeddings_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<nn::Norm> norm_;
  std::shared_ptr<nn::Linear> head_;  ///< null: the embeddings
};

}  // namespace lact::models
