// What one worker does with one head: its states, and the writes of chunks into them, forward and back.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "lact/ops/tokens/head_tokens.h"
#include "lact/ttt/fused_steps.h"
#include "lact/ttt/passes/head_passes.h"

namespace lact::ttt::heads {

using ops::HeadTokens;

/// What a run is given, besides tensors.
struct HeadPlan {
  fused::MakeHeadPasses make_passes;
  std::vector<fused::MatrixPlace> places;
  std::vector<bool> written;
  UpdateRule rule;
  bool residual;                        ///< the negative gradient is v - f(k)
  std::vector<fused::ChunkStep> steps;  ///< version: writes before it
  int64_t num_versions;                 ///< writes
  int64_t segment;                      ///< of so many versions one is kept for the backward pass
};

/// One tensor per matrix: weights [heads, out, in] and, undefined where it is not written, momentum like
/// them, norms [heads, out, 1], rates [heads, T, 1]; beta [heads, T, 1]. Float32.
struct HeadMatrices {
  Matrices weights, norms, momentum, rates;
  at::Tensor beta;
};

/// Gradients of tokens and matrices. They begin as zeros, those of weights and momentum as what they are
/// behind the last step.
struct HeadGradients {
  at::Tensor q, k, v;
  HeadMatrices matrices;
};

/// All heads: a state is the weights, then with momentum that, then with norms |W + step| of the last write.
struct HeadTask {
  HeadTask(const HeadPlan& plan, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
           HeadMatrices matrices);

  const HeadPlan& plan;
  HeadTokens q, k, v;
  HeadMatrices matrices;
  bool has_norms;
  int64_t weights_size = 0, norms_size = 0, state_size = 0;
};

/// Calls body(first token, tokens) for blocks of about equal size.
template <class Body>
void for_each_block(Range tokens, const Body& body) {
  const int64_t blocks = (tokens.size() + fused::kBlockRows - 1) / fused::kBlockRows;
  if (blocks == 0) return;
  const int64_t size = (tokens.size() + blocks - 1) / blocks;
  for (int64_t token = tokens.begin; token < tokens.end; token += size) {
    body(token, std::min(size, tokens.end - token));
  }
}

inline kernels::OutputRows output(const HeadTokens& x, int64_t head, int64_t token) {
  return {x.at(head, token), x.stride(), x.bf16()};
}
inline float* of_head(const at::Tensor& x, int64_t head) {
  return x.data_ptr<float>() + head * (x.numel() / x.size(0));
}

class HeadWorker {
 public:
  HeadWorker(const HeadTask& task, int64_t head);

  fused::HeadPasses& passes() { return *passes_; }
  float* zeros(int64_t count);
  float* momentum(float* state) const { return state + task_.weights_size; }

  /// Between tensors of this head and a stretch of memory; undefined ones are left out.
  void read(const Matrices& from, float* to) const;
  void write(float* from, const Matrices& to) const;

  /// With the passes loaded with `state`, what a chunk makes of it; `next` may be the same.
  void write_chunk(const fused::ChunkStep& chunk, float* state, float* next);

  /// The other way, with the passes loaded with the state before, for the backward passes: gradients of
  /// weights and momentum behind the chunk become those before it. `k` and `v` are where the tokens' go.
  void write_chunk_backward(const fused::ChunkStep& chunk, float* state, float* next, float* weights,
                            float* momenta, const HeadGradients& to, const HeadTokens& k,
                            const HeadTokens& v);

 private:
  /// Calls body(index, place, first row among those that have norms) for matrices that are written.
  template <class Body>
  void for_each_written(const Body& body) const;

  float sign() const { return plan_.rule.ascent ? -1 : 1; }
  float decay_of(const fused::ChunkStep& chunk) const;
  void decay(float* momenta, float factor) const;
  float* norms(float* state) const { return state + task_.state_size - task_.norms_size; }
  fused::WrittenBlock block(int64_t token, int64_t rows) const;
  void norms_backward(float* next, float* weights, const HeadGradients& to);

  const kernels::InnerNormKernels& kernel_ = kernels::inner_norm_kernels();
  const HeadTask& task_;
  const HeadPlan& plan_;
  int64_t head_;
  ops::fused::Bench bench_;
  std::unique_ptr<fused::HeadPasses> passes_;
  float* rates_;  ///< of a block, then their gradients; each matrix has room for kBlockRows
  float *step_ = nullptr, *norm_gradients_ = nullptr;
};

}  // namespace lact::ttt::heads
