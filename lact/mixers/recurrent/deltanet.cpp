#include "lact/mixers/recurrent/deltanet.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/mixers/heads.h"
#include "lact/ops/activations/activations.h"
#include "lact/ops/recurrences/delta_rule.h"

namespace lact::recurrent {

DeltaNet::DeltaNet(int64_t model_dim, const DeltaNetConfig& config)
    : RecurrentCore("deltanet", model_dim, config.num_heads, config.both_ways), config_(config) {
  LACT_CHECK(config.l2_epsilon >= 0, "[deltanet] l2_epsilon is {}, expected 0 or more", config.l2_epsilon);
  beta_ = register_module("beta", std::make_shared<nn::Linear>(model_dim, config.num_heads, false));
  make_output(model_dim, config.output);
}

Tokens DeltaNet::prepare(const Projected& in, nn::ActivationCheckpointing& checkpointing) const {
  const auto unit = [heads = num_heads(), epsilon = config_.l2_epsilon](const std::vector<at::Tensor>& x) {
    return ops::silu_l2_normalize(split_heads(x[0], heads), epsilon);
  };
  const auto silu = [](const std::vector<at::Tensor>& x) { return at::silu(x[0]); };
  const at::Tensor values = config_.silu_v ? checkpointing.run(silu, {in.v}) : in.v;
  const at::Tensor share = at::sigmoid(beta_->forward(checkpointing.widen(in.x))).transpose(1, 2);
  return {checkpointing.run(unit, {in.q}).transpose(1, 2), checkpointing.run(unit, {in.k}).transpose(1, 2),
          to_heads(values, num_heads()), config_.negative_eigenvalues ? 2 * share : share};
}

Recurrence DeltaNet::recurrence() const {
  const double scale = 1 / std::sqrt(double(head_dim()));
  return {[scale](const Tokens& tokens, const at::Tensor& state) {
            return ops::delta_rule(tokens.q, tokens.k, tokens.v, tokens.gate, state, scale);
          },
          scale, /*decays=*/false};
}

}  // namespace lact::recurrent
