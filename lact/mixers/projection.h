// Input and output projections of a mixer: x -> q, k, v, and the result back to the model's width.
#pragma once

#include "lact/mixers/convolution.h"
#include "lact/mixers/pieces.h"
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

/// A state of a layer whose projection has a convolution.
struct WithTail {
  ConvolutionTail tail;  ///< from `initial_tail` and then from call to call
};

/// One matrix for q, k and v: rows [q; k; v].
class Projection : public torch::nn::Module {
 public:
  Projection(int64_t model_dim, const ProjectionConfig& config);

  /// With a convolution the pieces' states are WithTail. It sees nothing before the document of a token.
  Projected in(const at::Tensor& x, std::span<const SequencePiece> pieces) const;
  /// The same without convolution.
  Projected in(const at::Tensor& x) const;
  /// A part of it, without convolution: k and v alone, or q alone; the rest is undefined.
  Projected keys_and_values(const at::Tensor& x) const;
  Projected queries(const at::Tensor& x) const;
  ConvolutionTail initial_tail(int64_t batch) const;  ///< of 3M channels; undefined without convolution
  at::Tensor out(const at::Tensor& mixed) const;

 private:
  Projected parts(const at::Tensor& x, const at::Tensor& joined) const;
  at::Tensor sharded_convolution(const at::Tensor& joined, at::Tensor& tail, const Sharding& sharding) const;
  at::Tensor convolved(const at::Tensor& joined, ConvolutionTail& tail, const SequenceLayout& layout) const;

  std::shared_ptr<nn::Linear> qkv_, output_;
  std::shared_ptr<nn::Norm> q_norm_, k_norm_;
  at::Tensor conv_;  ///< [conv_width, 3M], the last row for the token itself; undefined without convolution
};

}  // namespace lact
