// Cross entropy of tokens straight from hidden states: the logits of all tokens are never in memory together.
#pragma once

#include <ATen/core/Tensor.h>

namespace lact::ops {

/// -log softmax(hidden · weightᵀ)[target]; hidden [N, M], weight [vocabulary, M], targets [N] of int64 -> [N]
/// of float32 or wider. The products are computed in the type of hidden.
at::Tensor token_losses(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& targets);

namespace reference {
at::Tensor token_losses(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& targets);
}

/// A stretch of tokens at a time, whose logits are turned into their gradients in place. On every device and
/// type: what is saved is memory.
namespace fused {
at::Tensor token_losses(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& targets);
}

}  // namespace lact::ops
