#include "lact/mixers/recurrent/mamba2_mixer.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/profile.h"

namespace lact::recurrent {

MultiHeadMamba2::MultiHeadMamba2(int64_t model_dim, const Mamba2MixerConfig& config)
    : step_shift_(config.step_shift) {
  const int64_t width = config.num_heads * config.head_dim;
  projection_ = register_module("projection", std::make_shared<nn::Linear>(model_dim, 3 * width, false));
  step_ = register_module("step", std::make_shared<nn::Linear>(model_dim, config.num_heads, false));
}

at::Tensor MultiHeadMamba2::forward(const at::Tensor& x, const SequenceLayout& layout, Direction direction,
                                    nn::ActivationCheckpointing& checkpointing, at::Tensor& state) const {
  const auto joined = projection_->forward(x).chunk(3, -1);
  const at::Tensor steps = step_->forward(checkpointing.widen(x));
  const Tokens tokens = mamba2_tokens(joined[0], joined[1], joined[2], steps, step_shift_, checkpointing);
  return pass_over(mamba2_recurrence(), tokens, layout, direction, state);
}

Mamba2Directions::Mamba2Directions(int64_t model_dim, const Mamba2MixerConfig& config) : config_(config) {
  LACT_CHECK(config.num_heads > 0 && config.head_dim > 0,
             "[mamba2] {} heads of {} channels, expected at least 1 of each", config.num_heads,
             config.head_dim);
  const auto add = [&](const char* name) {
    return register_module(name, std::make_shared<MultiHeadMamba2>(model_dim, config));
  };
  left_to_right_ = add("left_to_right");
  if (config.both_ways) right_to_left_ = add("right_to_left");
}

std::unique_ptr<RecurrentState> Mamba2Directions::initial_state(int64_t batch) const {
  return empty_state(batch, config_.num_heads, config_.head_dim, config_.head_dim, config_.both_ways,
                     parameters().front());
}

Mamba2Directions::Outputs Mamba2Directions::forward(const at::Tensor& x, const SequenceLayout& layout,
                                                    nn::ActivationCheckpointing& checkpointing,
                                                    RecurrentState& state) const {
  check_tokens(x, layout);
  check_direction("mamba2", config_.both_ways, layout);
  Outputs outputs;
  outputs.left_to_right =
      left_to_right_->forward(x, layout, Direction::left_to_right, checkpointing, state.memory);
  if (right_to_left_) {
    outputs.right_to_left =
        right_to_left_->forward(x, layout, Direction::right_to_left, checkpointing, state.reverse);
  }
  return outputs;
}

Mamba2Mixer::Mamba2Mixer(int64_t model_dim, const Mamba2MixerConfig& config)
    : directions_(register_module("directions", std::make_shared<Mamba2Directions>(model_dim, config))) {
  heads_.emplace(*this, model_dim, config.num_heads, config.head_dim, config.output);
  const int64_t width = config.num_heads * config.head_dim;
  output_ = register_module("output", std::make_shared<nn::Linear>(width, model_dim, false));
}

std::unique_ptr<State> Mamba2Mixer::initial_state(int64_t batch) { return directions_->initial_state(batch); }

at::Tensor Mamba2Mixer::advance(const at::Tensor& x, const SequenceLayout& layout, State& any_state) {
  const profile::Scope part("recurrence");
  auto& state = dynamic_cast<RecurrentState&>(any_state);
  nn::ActivationCheckpointing checkpointing(checkpoint_activations_ && layout.keeps_nothing());
  const at::Tensor sum = directions_->forward(x, layout, checkpointing, state).sum();
  checkpointing.free_until_backward_of(sum);
  return output_->forward(heads_->forward(sum, x, checkpoint_activations_));
}

}  // namespace lact::recurrent
