#include "lact/mixers/perceiver/registers.h"

#include <ATen/ATen.h>

#include "lact/nn/init.h"

namespace lact::perceiver {

void RegisterState::visit(StateVisitor& visitor, const std::string& prefix) {
  visitor.tensor(prefix + "registers", registers, -1);
}

Registers::Registers(int64_t model_dim, const PerceiverConfig& config)
    : values(register_parameter("values", at::empty({config.registers, model_dim}))) {
  nn::init_normal(values, nn::kLinearStd);
}

at::Tensor Registers::forward(int64_t batch) const {
  return values.unsqueeze(0).expand({batch, values.size(0), values.size(1)});
}

std::unique_ptr<State> Registers::initial_state(int64_t batch) const {
  auto state = std::make_unique<RegisterState>();
  state->registers = forward(batch);
  return state;
}

}  // namespace lact::perceiver
