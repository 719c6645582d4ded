#include "lact/mixers/recurrent/gla.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/mixers/heads.h"
#include "lact/ops/recurrences/gla.h"

namespace lact::recurrent {

Gla::Gla(int64_t model_dim, const GlaConfig& config)
    : RecurrentCore("gla", model_dim, config.num_heads, config.both_ways),
      gate_divisor_(config.gate_divisor) {
  LACT_CHECK(config.gate_rank > 0, "[gla] gate_rank is {}, expected at least 1", config.gate_rank);
  LACT_CHECK(config.gate_divisor > 0, "[gla] gate_divisor is {}, expected a positive number",
             config.gate_divisor);
  gate_down_ = register_module("gate_down", std::make_shared<nn::Linear>(model_dim, config.gate_rank, false));
  gate_up_ = register_module("gate_up", std::make_shared<nn::Linear>(config.gate_rank, model_dim, true));
  make_output(model_dim, config.output);
}

Tokens Gla::prepare(const Projected& in, nn::ActivationCheckpointing& checkpointing) const {
  const auto log_gate = [up = gate_up_, divisor = gate_divisor_](const std::vector<at::Tensor>& latent) {
    return at::log_sigmoid(up->forward(latent[0])) / divisor;
  };
  const at::Tensor latent = gate_down_->forward(checkpointing.widen(in.x));
  const auto heads = [&](const at::Tensor& x) { return to_heads(x, num_heads()); };
  return {heads(in.q), heads(in.k), heads(in.v), heads(checkpointing.run(log_gate, {latent}))};
}

Recurrence Gla::recurrence() const {
  const double scale = 1 / std::sqrt(double(head_dim()));
  return {[scale](const Tokens& tokens, const at::Tensor& state) {
            return ops::gla(tokens.q, tokens.k, tokens.v, tokens.gate, state, scale);
          },
          scale};
}

}  // namespace lact::recurrent
