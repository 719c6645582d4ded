#include "lact/models/common/block.h"

#include <limits>

#include "lact/base/error.h"

namespace lact::models {

void BlockState::visit(StateVisitor& visitor, const std::string& prefix) {
  for (size_t i = 0; i < mixers.size(); ++i) mixers[i]->visit(visitor, fmt::format("{}mixer{}.", prefix, i));
}

std::unique_ptr<State> BlockState::clone() const {
  auto copy = std::make_unique<BlockState>();
  copy->mixers = clone_all(mixers);
  return copy;
}

int64_t BlockState::forgettable() const {
  int64_t tokens = std::numeric_limits<int64_t>::max();
  for (const auto& mixer : mixers) tokens = std::min(tokens, mixer->forgettable());
  return tokens;
}

void BlockState::forget_last(int64_t tokens) {
  for (const auto& mixer : mixers) mixer->forget_last(tokens);
}

Block::Block(int64_t model_dim, const nn::NormOptions& norm, std::vector<std::shared_ptr<Mixer>> mixers,
             const nn::FeedForwardOptions& feed_forward)
    : mixers_(std::move(mixers)) {
  for (size_t i = 0; i < mixers_.size(); ++i) {
    const std::string name = "mixer" + std::to_string(i);
    mixer_norms_.push_back(register_module(name + "_norm", std::make_shared<nn::Norm>(model_dim, norm)));
    register_module(name, mixers_[i]);
  }
  feed_forward_norm_ = register_module("feed_forward_norm", std::make_shared<nn::Norm>(model_dim, norm));
  feed_forward_ = register_module("feed_forward", std::make_shared<nn::FeedForward>(model_dim, feed_forward));
}

std::unique_ptr<BlockState> Block::initial_state(int64_t batch) {
  auto state = std::make_unique<BlockState>();
  for (const auto& mixer : mixers_) state->mixers.push_back(mixer->initial_state(batch));
  return state;
}

at::Tensor Block::forward(const at::Tensor& x, const SequenceLayout& layout) {
  return advance(x, layout, *initial_state(x.size(0)));
}

at::Tensor Block::advance(const at::Tensor& x, const SequenceLayout& layout, BlockState& state) {
  const SequencePiece whole = {&layout, &state};
  return advance_together(x, {&whole, 1});
}

at::Tensor Block::advance_together(at::Tensor x, std::span<const SequencePiece> pieces) {
  const auto branch = [&](const std::shared_ptr<nn::Norm>& norm, const auto& run) {
    nn::ActivationCheckpointing checkpointing(checkpoint_activations_);
    const at::Tensor y = run(
        checkpointing.run([norm](const std::vector<at::Tensor>& in) { return norm->forward(in[0]); }, {x}));
    if (y.defined()) checkpointing.free_until_backward_of(y);
    return y;
  };
  for (size_t i = 0; i < mixers_.size(); ++i) {
    std::vector<SequencePiece> of_mixer(pieces.begin(), pieces.end());
    for (SequencePiece& piece : of_mixer) {
      auto& state = dynamic_cast<BlockState&>(*piece.state);
      LACT_ASSERT(state.mixers.size() == mixers_.size());
      piece.state = state.mixers[i].get();
    }
    const at::Tensor learnt = branch(mixer_norms_[i], [&](const at::Tensor& normed) {
      return mixers_[i]->advance_together(normed, of_mixer);
    });
    if (learnt.defined()) x = x + learnt;
  }
  return x +
         branch(feed_forward_norm_, [&](const at::Tensor& normed) { return feed_forward_->forward(normed); });
}

}  // namespace lact::models
