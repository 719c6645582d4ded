#include "lact/mixers/recurrent/mamba2.h"

#include <ATen/ATen.h>

#include "lact/mixers/heads.h"
#include "lact/ops/recurrences/ssd.h"

namespace lact::recurrent {

Mamba2::Mamba2(int64_t model_dim, const Mamba2Config& config)
    : RecurrentCore("mamba2", model_dim, config.num_heads, config.both_ways), step_shift_(config.step_shift) {
  step_ = register_module("step", std::make_shared<nn::Linear>(model_dim, config.num_heads, false));
  make_output(model_dim, config.output);
}

Tokens Mamba2::prepare(const Projected& in, nn::ActivationCheckpointing& checkpointing) const {
  const at::Tensor steps = step_->forward(checkpointing.widen(in.x));
  return mamba2_tokens(in.q, in.k, in.v, steps, step_shift_, checkpointing);
}

Recurrence Mamba2::recurrence() const { return mamba2_recurrence(); }

Tokens mamba2_tokens(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& steps,
                     double step_shift, nn::ActivationCheckpointing& checkpointing) {
  const int64_t num_heads = steps.size(-1);
  const at::Tensor step = at::softplus(steps + step_shift).transpose(1, 2);
  const auto weighted = [](const std::vector<at::Tensor>& in) {
    return (in[0] * in[1].unsqueeze(-1)).to(in[0].scalar_type());
  };
  return {to_heads(q, num_heads), to_heads(k, num_heads),
          checkpointing.run(weighted, {to_heads(v, num_heads), step}), -step};
}

Recurrence mamba2_recurrence() {
  return {[](const Tokens& tokens, const at::Tensor& state) {
            return ops::ssd(tokens.q, tokens.k, tokens.v, tokens.gate, state);
          },
          /*scale=*/1};
}

}  // namespace lact::recurrent
