#include "lact/nn/feed_forward.h"

#include "lact/base/profile.h"
#include "lact/ops/activations/activations.h"

namespace lact::nn {

FeedForward::FeedForward(int64_t model_dim, const FeedForwardOptions& options) : kind_(options.kind) {
  const auto layer = [&](const char* name, int64_t in, int64_t out) {
    return register_module(name, std::make_shared<Linear>(in, out, options.bias));
  };
  if (kind_ == FeedForwardKind::swiglu) gate_ = layer("gate", model_dim, options.hidden_dim);
  up_ = layer("up", model_dim, options.hidden_dim);
  down_ = layer("down", options.hidden_dim, model_dim);
}

at::Tensor FeedForward::hidden(const at::Tensor& x, ActivationCheckpointing& checkpointing) const {
  const at::Tensor up = up_->forward(x);
  if (kind_ == FeedForwardKind::swiglu) {
    const auto gated = [](const std::vector<at::Tensor>& in) { return ops::gated_silu(in[0], in[1]); };
    return checkpointing.run(gated, {gate_->forward(x), up});
  }
  const auto activated = [kind = kind_](const std::vector<at::Tensor>& in) {
    return kind == FeedForwardKind::gelu_tanh ? ops::gelu_tanh(in[0]) : at::gelu(in[0]);
  };
  return checkpointing.run(activated, {up});
}

at::Tensor FeedForward::forward(const at::Tensor& x) const {
  const profile::Scope part("feed-forward");
  ActivationCheckpointing checkpointing(checkpoint_activations_);
  const at::Tensor y = down_->forward(hidden(x, checkpointing));
  checkpointing.free_until_backward_of(y);
  return y;
}

}  // namespace lact::nn
