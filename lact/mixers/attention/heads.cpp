#include "lact/mixers/attention/heads.h"

#include <ATen/ATen.h>

#include "lact/mixers/heads.h"

namespace lact::attention {

Heads::Heads(torch::nn::Module& owner, int64_t model_dim, const AttentionConfig& config)
    : config_(config), head_dim_(head_width(model_dim, config.num_heads)) {
  if (!config.head_norm) return;
  const nn::NormOptions options = {nn::NormKind::rms, config.head_norm_epsilon};
  q_norm_ = owner.register_module("q_norm", std::make_shared<nn::Norm>(head_dim_, options));
  k_norm_ = owner.register_module("k_norm", std::make_shared<nn::Norm>(head_dim_, options));
}

HeadInputs Heads::split(const Projected& in, const SequenceLayout& layout) const {
  at::Tensor q = split_heads(in.q, config_.num_heads);
  at::Tensor k = split_heads(in.k, config_.num_heads);
  const at::Tensor v = split_heads(in.v, config_.num_heads);
  if (q_norm_) q = q_norm_->forward(q), k = k_norm_->forward(k);
  if (config_.rope) {
    const auto table = layout.rope_table(q.size(3), *config_.rope, q.device());
    q = ops::rope(q, table, config_.rope->pairs);
    k = ops::rope(k, table, config_.rope->pairs);
  }
  return {q, k, v};
}

at::Tensor Heads::no_tokens(int64_t batch) const {
  return at::empty({batch, 0, config_.num_heads, head_dim_});
}

}  // namespace lact::attention
