// The chunk loop of one head at a time, forward and back, without autograd: what lies between the autograd
// function (scan_heads.cpp) and what a worker does with a chunk (head_worker.h). Heads are shared out among
// the workers.
#pragma once

#include "lact/ttt/head_worker.h"

namespace lact::ttt::heads {

class HeadRun {
 public:
  HeadRun(const HeadPlan& plan, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
          HeadMatrices matrices)
      : plan_(plan), task_(plan, q, k, v, std::move(matrices)) {}

  /// [heads, kept versions, state]
  at::Tensor new_versions() const;

  /// Fills `out`, and with what is behind the last step weights and momentum of `behind`. `versions` is
  /// undefined where no backward pass follows.
  void forward(const at::Tensor& out, const HeadMatrices& behind, const at::Tensor& versions) const;

  void backward(const at::Tensor& out_gradient, const at::Tensor& versions,
                const HeadGradients& gradients) const;

 private:
  bool is_kept(int64_t version) const {
    return version % plan_.segment == 0 || version == plan_.num_versions;
  }
  float* kept(const at::Tensor& versions, int64_t head, int64_t version) const {
    return of_head(versions, head) + (version + plan_.segment - 1) / plan_.segment * task_.state_size;
  }

  const HeadPlan& plan_;
  HeadTask task_;
};

}  // namespace lact::ttt::heads
