// One sequence whose tokens are shared out among ranks: of every range that a schedule writes or reads, each
// rank holds a part (paper algorithm 3), so that all have work at every step. What treats each token alone
// needs to know nothing of it. A mixer sees, along the tensor axis, all tokens of these ranks for its share
// of the heads (algorithm 4), and moves the rest along the context axis.
#pragma once

#include <torch/nn/module.h>

#include <vector>

#include "lact/mixers/layout.h"
#include "lact/parallel/world.h"

namespace lact {

class Sharding {
 public:
  Sharding(SequenceLayout whole, const parallel::World& world);

  const SequenceLayout& whole() const { return whole_; }
  const parallel::Group& context() const { return world_.context; }

  /// Tokens that a rank of the sequence holds, in their order.
  const std::vector<Range>& of_shard(int64_t shard) const { return shards_[size_t(shard)]; }
  int64_t shard() const { return world_.place().shard(world_.mesh); }
  const std::vector<Range>& own() const { return of_shard(shard()); }
  /// Tokens that a rank of the context axis has for its heads.
  const std::vector<Range>& of_context(int64_t rank) const { return contexts_[size_t(rank)]; }
  const std::vector<Range>& own_context() const { return of_context(world_.context.rank()); }

  /// The tokens of this rank out of all, along `dim`.
  at::Tensor take(const at::Tensor& all, int64_t dim) const;
  /// All tokens of `part` from those of each rank, x [B, T, ...], on every rank.
  at::Tensor put_together(const at::Tensor& x, Range part) const;
  at::Tensor put_together(const at::Tensor& x) const { return put_together(x, {whole_.begin, whole_.end()}); }

  /// Heads of this rank: tokens of the tensor axis' ranks come together, [B, H, T of this rank, D] ->
  /// [B, H / ranks, T of the context rank, D]. Tensors of one type travel together.
  std::vector<at::Tensor> to_heads(const std::vector<at::Tensor>& tokens, const char* what) const;
  /// The way back.
  at::Tensor to_tokens(const at::Tensor& heads, const char* what) const;
  /// x [B, T of this rank, ...]: the tokens that this rank needs, in their order. `needed`: for each rank of
  /// the sequence, sorted disjoint ranges.
  at::Tensor fetch(const at::Tensor& x, const std::vector<std::vector<Range>>& needed,
                   const char* what) const;
  const std::vector<std::vector<Range>>& of_shards() const { return shards_; }

  /// The share of this rank of something that is there for every head, along `dim`.
  at::Tensor own_heads(const at::Tensor& all, int64_t dim) const;

  /// x [B, T of the context rank, ...] along the context axis: the tokens that this rank needs, in their
  /// order. `needed`: for each rank of the axis, sorted disjoint ranges.
  at::Tensor bring(const at::Tensor& x, const std::vector<std::vector<Range>>& needed,
                   const char* what) const;

 private:
  at::Tensor moved(const at::Tensor& rows, const parallel::Group& group,
                   const std::vector<std::vector<Range>>& held, const std::vector<std::vector<Range>>& needed,
                   const char* what) const;
  const std::vector<std::vector<Range>>& of_tensor() const { return tensors_; }

  SequenceLayout whole_;
  parallel::World world_;
  std::vector<std::vector<Range>> shards_, contexts_;
  std::vector<std::vector<Range>> tensors_;  ///< of the ranks on this rank's tensor axis
};

/// A module whose heads a tensor axis shares out.
class SharesHeads {
 public:
  virtual ~SharesHeads() = default;
  virtual int64_t shared_heads() const = 0;
};

/// Throws a sentence unless the ranks of the tensor axis divide the heads of every part of the model.
void check_heads(const torch::nn::Module& model, const parallel::World& world);

/// The layout of this rank's tokens. Its schedule and window are of the whole's structure: `sharding` says
/// who holds what. The layout itself if there is one rank.
SequenceLayout share_out(const SequenceLayout& whole, const parallel::World& world);

/// The parts of `ranges` (sorted, disjoint) that lie in `others` (likewise).
std::vector<Range> intersect(const std::vector<Range>& ranges, const std::vector<Range>& others);

/// Number of tokens.
int64_t size_of(const std::vector<Range>& ranges);

/// The number of the token at `position` among those of `ranges`, of which it is one.
int64_t place_in(const std::vector<Range>& ranges, int64_t position);

/// Sorted disjoint ranges that cover the same tokens.
std::vector<Range> merged(std::vector<Range> ranges);

}  // namespace lact
