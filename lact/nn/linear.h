// y = x Wᵀ + b, computed in the dtype of x whatever the parameters are kept in.
#pragma once

#include <torch/nn/module.h>

#include <optional>

#include "lact/ops/linear/compressed_linear.h"

namespace lact::nn {

class Linear : public torch::nn::Module {
 public:
  Linear(int64_t in, int64_t out, bool bias);

  /// [..., in] -> [..., out]
  at::Tensor forward(const at::Tensor& x) const;

  /// Outputs [first, first + count) alone: [..., in] -> [..., count]
  at::Tensor forward_rows(const at::Tensor& x, int64_t first, int64_t count) const;

  /// For inference only: keeps the weight in this form instead. It is no parameter any more and its memory is
  /// free.
  ops::WeightError compress(ops::WeightFormat format);
  bool is_compressed() const { return compressed_.has_value(); }

  at::Tensor weight;  ///< [out, in]; undefined once compressed
  at::Tensor bias;    ///< [out], undefined without bias

 private:
  std::optional<ops::CompressedWeight> compressed_;
};

}  // namespace lact::nn
