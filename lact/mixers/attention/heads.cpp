#include "lact/mixers/attention/heads.h"

#include <ATen/ATen.h>

#include "lact/mixers/heads.h"

namespace lact::attention {

Heads::Heads(torch::nn::Module& owner, int64_t model_dim, const AttentionConfig& config)
    : config_(config), head_dim_(head_width(model_dim, config.num_heads)) {
  place_ = owner.register_buffer("place", at::empty({0}));
  if (!config.head_norm) return;
  const nn::NormOptions options = {nn::NormKind::rms, config.head_norm_epsilon};
  q_norm_ = owner.register_module("q_norm", std::make_shared<nn::Norm>(head_dim_, options));
  k_norm_ = owner.register_module("k_norm", std::make_shared<nn::Norm>(head_dim_, options));
}

HeadInputs Heads::split(const Projected& in, const SequenceLayout& layout,
                        nn::ActivationCheckpointing& checkpointing) const {
  const auto prepare = [&](const at::Tensor& x, const std::shared_ptr<nn::Norm>& norm) {
    if (!x.defined()) return x;
    const at::Tensor heads = split_heads(x, config_.num_heads);
    if (!norm && !config_.rope) return heads;
    std::optional<ops::RopeTable> table;
    if (config_.rope) table = layout.rope_table(head_dim_, *config_.rope, x.device());
    const auto run = [norm, table, rope = config_.rope](const std::vector<at::Tensor>& in) {
      const at::Tensor normed = norm ? norm->forward(in[0]) : in[0];
      return table ? ops::rope(normed, *table, rope->pairs) : normed;
    };
    return checkpointing.run(run, {heads});
  };
  return {prepare(in.q, q_norm_), prepare(in.k, k_norm_),
          in.v.defined() ? split_heads(in.v, config_.num_heads) : in.v};
}

at::Tensor Heads::no_tokens(int64_t batch) const {
  return at::empty({batch, 0, config_.num_heads, head_dim_}, place_.device());
}

}  // namespace lact::attention
