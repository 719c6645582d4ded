#include "lact/models/nvs/block.h"

namespace lact::models {

namespace {

std::vector<std::shared_ptr<Mixer>> nvs_mixers(const NvsConfig& config, MixerKind kind) {
  const int64_t width = config.model_dim;
  return {make_layer(width, config.attention), kind == MixerKind::full
                                                   ? make_full_layer(width, config.attention)
                                                   : make_layer(width, config.lact)};
}

}  // namespace

NvsBlock::NvsBlock(const NvsConfig& config, int64_t layer)
    : Block(config.model_dim, config.norm, nvs_mixers(config, config.mixer.kind_of(layer)),
            config.feed_forward) {}

at::Tensor NvsBlock::look(const at::Tensor& x, const SequenceLayout& layout) {
  return x + mixers_[0]->forward(mixer_norms_[0]->forward(x), layout);
}

at::Tensor NvsBlock::collect(const at::Tensor& x, const SequenceLayout& layout, State& memory_state) {
  const at::Tensor seen = look(x, layout);
  memory().collect(mixer_norms_[1]->forward(seen), layout, memory_state);
  return seen;
}

at::Tensor NvsBlock::recall(const at::Tensor& x, const SequenceLayout& layout, const State& memory_state) {
  const at::Tensor known = x + memory().read(mixer_norms_[1]->forward(x), layout, memory_state);
  return known + feed_forward_->forward(feed_forward_norm_->forward(known));
}

at::Tensor NvsBlock::render(const at::Tensor& x, const SequenceLayout& layout, const State& memory_state) {
  return recall(look(x, layout), layout, memory_state);
}

}  // namespace lact::models
