#include "lact/mixers/recurrent/core.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/mixers/heads.h"
#include "lact/ops/dispatch/dtypes.h"

namespace lact::recurrent {

void RecurrentState::visit(StateVisitor& visitor, const std::string& prefix) {
  visitor.tensor(prefix + "memory", memory, -1);
  if (reverse.defined()) visitor.tensor(prefix + "reverse", reverse, -1);
}

std::unique_ptr<RecurrentState> empty_state(int64_t batch, int64_t num_heads, int64_t key_dim,
                                            int64_t value_dim, bool both_ways, const at::Tensor& like) {
  auto state = std::make_unique<RecurrentState>();
  const auto options = like.options().dtype(ops::wide_type(like.scalar_type()));
  state->memory = at::zeros({batch, num_heads, key_dim, value_dim}, options).detach();
  if (both_ways) state->reverse = state->memory;
  return state;
}

void check_direction(const char* mixer, bool both_ways, const SequenceLayout& layout) {
  LACT_CHECK(
      !both_ways || layout.unordered,
      "[{}] both_ways is for sets of tokens such as views, but the tokens of this layout have an order",
      mixer);
}

RecurrentCore::RecurrentCore(const char* name, int64_t model_dim, int64_t num_heads, bool both_ways)
    : name_(name),
      num_heads_(num_heads),
      head_dim_(head_width(model_dim, num_heads)),
      both_ways_(both_ways) {}

void RecurrentCore::make_output(int64_t model_dim, const HeadOutputConfig& config) {
  output_.emplace(*this, model_dim, num_heads_, head_dim_, config);
}

std::unique_ptr<State> RecurrentCore::initial_state(int64_t batch) {
  return empty_state(batch, num_heads_, head_dim_, head_dim_, both_ways_, parameters().front());
}

at::Tensor RecurrentCore::mix(const Projected& in, const SequenceLayout& layout, State& any_state) {
  const profile::Scope part("recurrence");
  check_direction(name_, both_ways_, layout);
  auto& state = dynamic_cast<RecurrentState&>(any_state);
  nn::ActivationCheckpointing checkpointing(checkpoint_activations_ && layout.keeps_nothing());
  const Tokens tokens = prepare(in, checkpointing);
  const Recurrence rule = recurrence();
  at::Tensor out = pass_over(rule, tokens, layout, Direction::left_to_right, state.memory);
  if (both_ways_) out = out + pass_over(rule, tokens, layout, Direction::right_to_left, state.reverse);
  checkpointing.free_until_backward_of(out);
  return output_->forward(out, in.x, checkpoint_activations_);
}

}  // namespace lact::recurrent
