// The gradients of all ranks added up, in buckets that leave as soon as the backward pass has finished them.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "lact/parallel/group.h"
#include "lact/train/lent_parameters.h"

namespace torch::nn {
class Module;
}

namespace lact::train {

class GradientSum {
 public:
  /// Watches the parameters of the model that are learned, until it is destroyed. `bucket_bytes` of gradients
  /// travel together. Those that are lent go to their owners by themselves.
  GradientSum(const torch::nn::Module& model, parallel::Group group, const LentParameters* lent = nullptr,
              int64_t bucket_bytes = 1 << 24);
  ~GradientSum();

  /// Before the last backward pass of a step: what it finishes may leave.
  void begin();
  /// Afterwards: every gradient is the sum over ranks. One that no rank has stays undefined.
  void finish();

 private:
  struct Bucket {
    std::vector<size_t> parameters;
    at::Tensor flat;  ///< gradients and, for each, whether there is one
    parallel::Transport::Wait wait;
    bool stale = false;  ///< a gradient has changed since
  };
  struct Watched {
    at::Tensor parameter;
    size_t bucket = 0;
    int64_t seen = 0;       ///< times that this pass has added to its gradient
    int64_t expected = -1;  ///< as often as in the step before
  };
  class Hook;

  void added(size_t parameter);
  void leave(Bucket& bucket);
  void arrive(Bucket& bucket);

  parallel::Group group_;
  std::vector<Watched> watched_;
  std::vector<Bucket> buckets_;
  size_t left_ = 0;  ///< buckets that have left; all ranks send them in one order
  bool watching_ = false;
  std::shared_ptr<GradientSum*> self_;  ///< what hooks see; null once this is gone
};

}  // namespace lact::train
