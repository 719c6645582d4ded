// Input and output projections of a mixer: x -> q, k, v, and the result back to the model's width.
#pragma once

#include "lact/mixers/mixer.h"
#include "lact/nn/linear.h"
#include "lact/nn/norm.h"

namespace lact {

struct ProjectionConfig {
  bool qkv_bias = false;
  bool output_bias = false;
  bool qk_norm = false;
  double qk_norm_epsilon = 1e-5;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("qkv_bias", qkv_bias, "biases of the q, k and v projections");
    field("output_bias", output_bias, "bias of the output projection");
    field("qk_norm", qk_norm, "RMS-norm of q and k over the whole model width");
    field("qk_norm_epsilon", qk_norm_epsilon, "epsilon of that norm");
  }
  bool operator==(const ProjectionConfig&) const = default;
};

/// One matrix for q, k and v: rows [q; k; v].
class Projection : public torch::nn::Module {
 public:
  Projection(int64_t model_dim, const ProjectionConfig& config);

  Projected in(const at::Tensor& x) const;
  at::Tensor out(const at::Tensor& mixed) const;

 private:
  std::shared_ptr<nn::Linear> qkv_, output_;
  std::shared_ptr<nn::Norm> q_norm_, k_norm_;
};

}  // namespace lact
