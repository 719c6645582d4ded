#include "lact/mixers/projection.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"

namespace lact {

Projection::Projection(int64_t model_dim, const ProjectionConfig& config) {
  qkv_ = register_module("qkv", std::make_shared<nn::Linear>(model_dim, 3 * model_dim, config.qkv_bias));
  output_ = register_module("output", std::make_shared<nn::Linear>(model_dim, model_dim, config.output_bias));
  if (config.qk_norm) {
    const nn::NormOptions options = {nn::NormKind::rms, config.qk_norm_epsilon};
    q_norm_ = register_module("q_norm", std::make_shared<nn::Norm>(model_dim, options));
    k_norm_ = register_module("k_norm", std::make_shared<nn::Norm>(model_dim, options));
  }
}

Projected Projection::in(const at::Tensor& x) const {
  LACT_CHECK(x.dim() == 3, "[mixer] the input has shape {}, expected [B, T, M]", x.sizes().vec());
  const auto qkv = qkv_->forward(x).chunk(3, -1);
  if (!q_norm_) return {x, qkv[0], qkv[1], qkv[2]};
  return {x, q_norm_->forward(qkv[0]), k_norm_->forward(qkv[1]), qkv[2]};
}

at::Tensor Projection::out(const at::Tensor& mixed) const { return output_->forward(mixed); }

}  // namespace lact
