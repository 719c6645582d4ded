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
  int64_t conv_width = 0;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("qkv_bias", qkv_bias, "biases of the q, k and v projections");
    field("output_bias", output_bias, "bias of the output projection");
    field("qk_norm", qk_norm, "RMS-norm of q and k over the whole model width");
    field("qk_norm_epsilon", qk_norm_epsilon, "epsilon of that norm");
    field(
        "conv_width", conv_width,
        "causal convolution of each channel of q, k, v over so many tokens, as linear-attention models have; "
        "0 is none, as in the paper");
  }
  bool operator==(const ProjectionConfig&) const = default;
};

/// One matrix for q, k and v: rows [q; k; v].
class Projection : public torch::nn::Module {
 public:
  Projection(int64_t model_dim, const ProjectionConfig& config);

  /// `tail`: the tokens before x that the convolution still sees, from `initial_tail` and then from call to
  /// call. It sees nothing before the document of a token.
  Projected in(const at::Tensor& x, at::Tensor& tail, const SequenceLayout& layout) const;
  /// The same without convolution.
  Projected in(const at::Tensor& x) const;
  /// A part of it, without convolution: k and v alone, or q alone; the rest is undefined.
  Projected keys_and_values(const at::Tensor& x) const;
  Projected queries(const at::Tensor& x) const;
  at::Tensor initial_tail(int64_t batch) const;  ///< [B, conv_width - 1, 3M]; undefined without convolution
  at::Tensor out(const at::Tensor& mixed) const;

 private:
  at::Tensor sharded_convolution(const at::Tensor& joined, at::Tensor& tail, const Sharding& sharding) const;
  at::Tensor convolved(const at::Tensor& joined, at::Tensor& tail, const SequenceLayout& layout) const;

  std::shared_ptr<nn::Linear> qkv_, output_;
  std::shared_ptr<nn::Norm> q_norm_, k_norm_;
  at::Tensor conv_;  ///< [conv_width, 3M], the last row for the token itself; undefined without convolution
};

}  // namespace lact
