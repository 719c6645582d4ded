// Tokens of two tensors, piece by piece in a new order. Ranges instead of an index for every token: both
// directions are copies of memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "lact/ops/tokens/range.h"

namespace lact::ops {

struct TokenPiece {
  enum Source { kFirst, kSecond } source = kFirst;
  Range rows;
};

/// The rows of the pieces, one after the other: [tokens, ...] of tensors that agree in the rest of their
/// shape. A row may be taken several times, or never.
at::Tensor join_pieces(const at::Tensor& first, const at::Tensor& second,
                       const std::vector<TokenPiece>& pieces);

/// The same of one tensor.
at::Tensor take_ranges(const at::Tensor& x, const std::vector<Range>& ranges);

}  // namespace lact::ops
