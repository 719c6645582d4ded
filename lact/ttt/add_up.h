// What the ranks of a context axis have in common (paper algorithm 3): the direction of a chunk is the sum of
// what their tokens say, and travels with the momentum in one call: as many numbers as the fast weights have,
// however long the chunk is.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "lact/ops/tokens/range.h"
#include "lact/parallel/group.h"

namespace lact::ttt {

inline constexpr const char* kSumOfDirections = "adding up a chunk's fast-weight gradients";
inline constexpr const char* kSumOfGradients = "adding up the gradients of a chunk's update";

struct Direction {
  std::vector<at::Tensor> matrices;  ///< undefined ones are not written
  at::Tensor beta;                   ///< [B, H, C, 1], each token's momentum; undefined without
};

/// Of all ranks, where gradients may pass; beta is then their mean, [B, H, 1, 1].
Direction add_up(Direction own, const parallel::Group& context);

/// Heads of which a rank takes care alone, where all have the same matrices.
Range own_share(int64_t heads, const parallel::Group& ranks);
/// x [heads, ...] of all ranks, from each its own share; gradients go to the rank of the share.
at::Tensor gather_shares(const at::Tensor& own, int64_t heads, const parallel::Group& ranks);
/// The way back: from gradients [heads, ...] of each rank the sum of this rank's share.
at::Tensor sum_of_share(const at::Tensor& x, const parallel::Group& ranks);

/// One row: all matrices, the momentum if there is one, a number.
at::Tensor packed(const std::vector<at::Tensor>& matrices, const at::Tensor& momentum, double count);
/// The way back, into tensors of the same shapes; returns the number.
double unpack(const at::Tensor& all, std::vector<at::Tensor>& matrices, at::Tensor& momentum);

}  // namespace lact::ttt
