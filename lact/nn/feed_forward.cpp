#include "lact/nn/feed_forward.h"

#include "lact/base/profile.h"
#include "lact/ops/activations.h"

namespace lact::nn {

FeedForward::FeedForward(int64_t model_dim, const FeedForwardOptions& options) : kind_(options.kind) {
  const auto layer = [&](const char* name, int64_t in, int64_t out) {
    return register_module(name, std::make_shared<Linear>(in, out, options.bias));
  };
  if (kind_ == FeedForwardKind::swiglu) gate_ = layer("gate", model_dim, options.hidden_dim);
  up_ = layer("up", model_dim, options.hidden_dim);
  down_ = layer("down", options.hidden_dim, model_dim);
}

at::Tensor FeedForward::forward(const at::Tensor& x) const {
  const profile::Scope part("feed-forward");
  const at::Tensor up = up_->forward(x);
  switch (kind_) {
    case FeedForwardKind::swiglu:
      return down_->forward(ops::gated_silu(gate_->forward(x), up));
    case FeedForwardKind::gelu:
      return down_->forward(at::gelu(up));
    case FeedForwardKind::gelu_tanh:
      return down_->forward(at::gelu(up, "tanh"));
  }
  return {};
}

}  // namespace lact::nn
