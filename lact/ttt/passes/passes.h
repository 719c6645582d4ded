// The fast-weight networks as four passes without autograd, for an operation that has a backward pass of its
// own: read (apply), write (descend), and the backward pass of each. All heads of a batch at once, float32 or
// bfloat16 tokens, float32 weights. Equations in docs/maths.md; the reference forms are in fast_weight.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "lact/ops/tokens/head_tokens.h"
#include "lact/ops/tokens/range.h"

namespace lact::ttt::fused {

using ops::HeadTokens;

/// One tensor per matrix of the network: weights and gradients [heads, out, in] float32, rates [heads, T]
/// float32.
using PerMatrix = std::vector<at::Tensor>;

/// What a chunk reads: tokens [B, H, T, ...] and where it lies in them.
struct ReadChunk {
  HeadTokens x, out;
  Range tokens;
};

/// What a chunk writes.
struct WrittenChunk {
  HeadTokens k, v;
  PerMatrix rates;
  Range tokens;
};

/// What the backward pass can use instead of computing it again; undefined where it was not asked for.
struct KeptChunk {
  at::Tensor read, written;
};

class FastWeightPasses {
 public:
  virtual ~FastWeightPasses() = default;

  /// Packs a version of the weights, which the passes below use until the next one.
  virtual void load(const PerMatrix& weights) = 0;

  /// out = f(x) for the tokens of `read`. For those of `written`, which are as many, into `sums` for each
  /// matrix: Σ_t rate_t · (-∂L_t/∂W) with v as the negative gradient of f(k). Either may be missing. Both use
  /// the weights as they were loaded, so that a chunk that is read and then written is one block of work.
  virtual KeptChunk forward(const ReadChunk* read, const WrittenChunk* written, const PerMatrix& sums,
                            bool keep) = 0;

  /// From the gradient of the output: that of x, and the weights' added to `weight_gradients`.
  virtual void apply_backward(const ReadChunk& chunk, const at::Tensor& kept, const ReadChunk& gradients,
                              const PerMatrix& weight_gradients) = 0;

  /// From the gradients of the sums: those of k, v and rates (for the chunk's tokens), and the weights'
  /// added.
  virtual void descend_backward(const WrittenChunk& chunk, const PerMatrix& sum_gradients,
                                const at::Tensor& kept, const WrittenChunk& gradients,
                                const PerMatrix& weight_gradients) = 0;
};

struct NetworkSizes {
  int64_t heads, in, hidden, out;
};

/// gate, down, up; see swiglu_apply.
std::unique_ptr<FastWeightPasses> swiglu_passes(const NetworkSizes& sizes, bool bf16);
/// One matrix; see linear_apply. `hidden` is not used.
std::unique_ptr<FastWeightPasses> linear_passes(const NetworkSizes& sizes, bool bf16);

}  // namespace lact::ttt::fused
