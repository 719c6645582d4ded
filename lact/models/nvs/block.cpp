#include "lact/models/nvs/block.h"

#include <ATen/ATen.h>

#include "lact/mixers/perceiver/layers.h"

namespace lact::models {

namespace {

/// The heads of the attention inside images; the registers' feed-forward is as wide as the tokens'.
perceiver::LayerOptions perceiver_options(const NvsConfig& config) {
  const auto& attention = config.attention.attention;
  return {config.attention.projection, attention.num_heads, attention.head_norm,
          attention.head_norm_epsilon, config.norm,         config.feed_forward};
}

std::shared_ptr<Mixer> memory_layer(const NvsConfig& config, int64_t index,
                                    const std::shared_ptr<const perceiver::Registers>& registers) {
  const int64_t width = config.model_dim;
  const auto recurrence = [&](const std::shared_ptr<Core>& core) {
    return std::make_shared<SingleMixer>(width, config.attention.projection, core);
  };
  switch (config.mixer.kind_of(index)) {
    case MixerKind::full:
      return make_full_layer(width, config.attention);
    case MixerKind::gla:
      return recurrence(std::make_shared<recurrent::Gla>(width, config.gla));
    case MixerKind::deltanet:
      return recurrence(std::make_shared<recurrent::DeltaNet>(width, config.deltanet));
    case MixerKind::mamba2:
      return std::make_shared<recurrent::Mamba2Mixer>(width, config.mamba2);
    case MixerKind::perceiver:
      break;
    default:
      return make_layer(width, config.lact);
  }
  const auto options = perceiver_options(config);
  if (index < config.writing_layers())
    return std::make_shared<perceiver::ReadingLayer>(width, options, registers);
  return std::make_shared<perceiver::LookingLayer>(width, options, registers);
}

at::Tensor with(const at::Tensor& x, const at::Tensor& learnt) { return learnt.defined() ? x + learnt : x; }

}  // namespace

NvsBlock::NvsBlock(const NvsConfig& config, int64_t index,
                   const std::shared_ptr<const perceiver::Registers>& registers)
    : Block(config.model_dim, config.norm,
            {make_layer(config.model_dim, config.attention), memory_layer(config, index, registers)},
            config.feed_forward) {}

SetMixer* NvsBlock::set_memory() const {
  auto* memory = dynamic_cast<SetMixer*>(mixers_[1].get());
  return memory != nullptr && memory->takes_pieces() ? memory : nullptr;
}

at::Tensor NvsBlock::pass(const at::Tensor& x, const SequenceLayout& layout) {
  const int64_t carried = x.size(1) - layout.tokens;
  if (carried == 0) return forward(x, layout);
  const auto state = initial_state(x.size(0));
  auto& registers = dynamic_cast<perceiver::RegisterState&>(*state->mixers[1]).registers;
  registers = x.narrow(1, 0, carried);
  const at::Tensor tokens = advance(x.narrow(1, carried, layout.tokens), layout, *state);
  return at::cat({registers, tokens}, 1);
}

at::Tensor NvsBlock::look(const at::Tensor& x, const SequenceLayout& layout) {
  return x + mixers_[0]->forward(mixer_norms_[0]->forward(x), layout);
}

at::Tensor NvsBlock::collect(const at::Tensor& x, const SequenceLayout& layout, State& memory_state) {
  const at::Tensor seen = look(x, layout);
  set_memory()->collect(mixer_norms_[1]->forward(seen), layout, memory_state);
  return seen;
}

at::Tensor NvsBlock::remember(const at::Tensor& x, State& memory_state) {
  const SequenceLayout all = views_layout(1, 0, x.size(1));  // to the memory images are one set of tokens
  return with(x, memory().advance(mixer_norms_[1]->forward(x), all, memory_state));
}

at::Tensor NvsBlock::recall(const at::Tensor& x, const SequenceLayout& layout, const State& memory_state) {
  const at::Tensor normed = mixer_norms_[1]->forward(x);
  SetMixer* const set = set_memory();
  return think(with(x, set != nullptr ? set->read(normed, layout, memory_state)
                                      : memory().advance(normed, layout, *memory_state.clone())));
}

at::Tensor NvsBlock::think(const at::Tensor& x) {
  return x + feed_forward_->forward(feed_forward_norm_->forward(x));
}

at::Tensor NvsBlock::render(const at::Tensor& x, const SequenceLayout& layout, const State& memory_state) {
  return recall(look(x, layout), layout, memory_state);
}

}  // namespace lact::models
