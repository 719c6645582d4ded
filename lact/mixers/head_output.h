// From the heads of a memory to the channels of a layer: RMS norm of each head, a learned scale, heads side
// by side. LaCT and the recurrences share it.
#pragma once

#include <torch/nn/module.h>

#include <array>
#include <string_view>
#include <utility>

#include "lact/nn/linear.h"
#include "lact/nn/norm.h"

namespace lact {

/// What the normed output is multiplied with: nothing, silu(Linear(x)) with one value per head, or one for
/// all heads.
enum class OutputScale { none, per_head, per_token };
constexpr std::array<std::pair<OutputScale, std::string_view>, 3> enum_names(OutputScale) {
  return {{{OutputScale::none, "none"},
           {OutputScale::per_head, "per_head"},
           {OutputScale::per_token, "per_token"}}};
}

struct HeadOutputConfig {
  bool norm = true;
  double norm_epsilon = 1e-5;
  OutputScale scale = OutputScale::per_head;
  bool zero_scale = false;
  double factor = 1;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("norm", norm, "RMS-norm of each head's output");
    field("norm_epsilon", norm_epsilon, "epsilon of that norm");
    field("scale", scale, "none, per_head or per_token: a learned factor silu(Linear(x))");
    field("zero_scale", zero_scale, "that factor starts at zero, so that a pretrained model is unchanged");
    field("factor", factor, "a constant factor");
  }
  bool operator==(const HeadOutputConfig&) const = default;
};

class HeadOutput {
 public:
  /// For `num_heads` heads of `head_dim` channels; the parts become `norm` and `scale` of `owner`.
  HeadOutput(torch::nn::Module& owner, int64_t model_dim, int64_t num_heads, int64_t head_dim,
             const HeadOutputConfig& config);

  /// What the heads read [B, H, T, D], and the layer's input x [B, T, M] -> [B, T, H·D] in the dtype of x.
  /// `checkpoint`: what lies between is computed again in the backward pass.
  at::Tensor forward(const at::Tensor& read, const at::Tensor& x, bool checkpoint) const;

 private:
  double factor_;
  std::shared_ptr<nn::Norm> norm_;
  std::shared_ptr<nn::Linear> scale_;
};

}  // namespace lact
