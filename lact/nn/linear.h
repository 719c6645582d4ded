// y = x Wᵀ + b, computed in the dtype of x whatever the parameters are kept in.
#pragma once

#include <torch/nn/module.h>

namespace lact::nn {

class Linear : public torch::nn::Module {
 public:
  Linear(int64_t in, int64_t out, bool bias);

  /// [..., in] -> [..., out]
  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight;  ///< [out, in]
  at::Tensor bias;    ///< [out], undefined without bias
};

}  // namespace lact::nn
