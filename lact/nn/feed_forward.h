// The block's channel mixer: SwiGLU (language model) or GELU (view synthesis, video).
#pragma once

#include <torch/nn/module.h>

#include <array>
#include <string_view>
#include <utility>

#include "lact/nn/linear.h"
#include "lact/nn/recompute.h"

namespace lact::nn {

/// swiglu: down(silu(gate x) ∘ up x). gelu: down(gelu(up x)), exact. gelu_tanh: the same with the tanh
/// approximation.
enum class FeedForwardKind { swiglu, gelu, gelu_tanh };
constexpr std::array<std::pair<FeedForwardKind, std::string_view>, 3> enum_names(FeedForwardKind) {
  return {{{FeedForwardKind::swiglu, "swiglu"},
           {FeedForwardKind::gelu, "gelu"},
           {FeedForwardKind::gelu_tanh, "gelu_tanh"}}};
}

struct FeedForwardOptions {
  FeedForwardKind kind = FeedForwardKind::swiglu;
  int64_t hidden_dim = 0;
  bool bias = false;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("kind", kind, "swiglu, gelu or gelu_tanh");
    field("hidden_dim", hidden_dim, "channels between the two layers");
    field("bias", bias, "biases on its linear layers");
  }
  bool operator==(const FeedForwardOptions&) const = default;
};

class FeedForward : public torch::nn::Module, public Recomputes {
 public:
  FeedForward(int64_t model_dim, const FeedForwardOptions& options);

  /// [..., M] -> [..., M]
  at::Tensor forward(const at::Tensor& x) const;

 private:
  at::Tensor hidden(const at::Tensor& x,
                    ActivationCheckpointing& checkpointing) const;  ///< what goes into down

  FeedForwardKind kind_;
  std::shared_ptr<Linear> gate_, up_, down_;  ///< gate_ only with swiglu
};

}  // namespace lact::nn
