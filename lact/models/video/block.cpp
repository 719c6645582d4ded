#include "lact/models/video/block.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/mixers/heads.h"
#include "lact/models/video/embeddings.h"
#include "lact/ops/attention/window_attention.h"
#include "lact/ops/norms/norms.h"

namespace lact::models {

namespace {

/// x + gate · y, with one gate [M] for each part of the sequence.
at::Tensor add_gated(const at::Tensor& x, const at::Tensor& y, const at::Tensor& modulation, int64_t gate) {
  const int64_t parts = modulation.size(1);
  const at::Tensor factor = modulation.select(2, gate).unsqueeze(2).to(x.scalar_type());
  const auto by_part = [&](const at::Tensor& tokens) { return tokens.unflatten(1, {parts, -1}); };
  return at::addcmul(by_part(x), by_part(y.to(x.scalar_type())), factor).flatten(1, 2);
}

}  // namespace

CrossAttention::CrossAttention(int64_t model_dim, const CrossAttentionConfig& config)
    : num_heads_(config.num_heads),
      projection_(register_module("projection", std::make_shared<Projection>(model_dim, config.projection))) {
}

at::Tensor CrossAttention::forward(const at::Tensor& x, const at::Tensor& text) const {
  const profile::Scope part("cross attention");
  const at::Tensor q = split_heads(projection_->queries(x).q, num_heads_);
  const Projected read = projection_->keys_and_values(text);
  const int64_t parts = text.size(0) / x.size(0), tokens = x.size(1) / parts;
  const ops::Window all = {{{{0, tokens}, {{{0, text.size(1)}}}}}};
  const at::Tensor mixed =
      ops::window_attention(q.reshape({text.size(0), tokens, num_heads_, q.size(3)}),
                            split_heads(read.k, num_heads_), split_heads(read.v, num_heads_), all);
  return projection_->out(mixed.reshape(x.sizes()));
}

at::Tensor modulated_norm(const at::Tensor& x, const at::Tensor& modulation, int64_t shift, int64_t scale,
                          double epsilon) {
  const at::Tensor normed = ops::layer_norm(x, {}, {}, epsilon).unflatten(1, {modulation.size(1), -1});
  const auto row = [&](int64_t index) {
    return modulation.select(2, index).unsqueeze(2).to(normed.scalar_type());
  };
  return at::addcmul(row(shift), normed, row(scale) + 1).flatten(1, 2);
}

VideoBlock::VideoBlock(const VideoConfig& config, int64_t layer)
    : norm_epsilon_(config.norm_epsilon),
      mixer_(
          register_module("mixer", make_layer(config.model_dim, config.mixer.kind_of(layer), config.layer))),
      cross_attention_(register_module(
          "cross_attention", std::make_shared<CrossAttention>(config.model_dim, config.cross_attention))),
      cross_norm_(
          register_module("cross_norm", std::make_shared<nn::Norm>(config.model_dim, config.cross_norm))),
      feed_forward_(register_module(
          "feed_forward", std::make_shared<nn::FeedForward>(config.model_dim, config.feed_forward))) {
  modulation_ = register_parameter(
      "modulation", at::randn({kBlockModulations, config.model_dim}) / std::sqrt(double(config.model_dim)));
}

at::Tensor VideoBlock::advance(const at::Tensor& x, const at::Tensor& time, const at::Tensor& text,
                               const SequenceLayout& layout, State& state) {
  const auto type = text.scalar_type();
  const at::Tensor modulation = time + modulation_;
  const auto modulated_branch = [&](const at::Tensor& tokens, int64_t first_row, const auto& run) {
    nn::ActivationCheckpointing checkpointing(checkpoint_activations_);
    const auto norm = [first_row, type, epsilon = norm_epsilon_](const std::vector<at::Tensor>& in) {
      return modulated_norm(in[0], in[1], first_row, first_row + 1, epsilon).to(type);
    };
    const at::Tensor y = run(checkpointing.run(norm, {tokens, modulation}));
    checkpointing.free_until_backward_of(y);
    return add_gated(tokens, y, modulation, first_row + 2);
  };
  const auto cross_branch = [&](const at::Tensor& tokens) {
    nn::ActivationCheckpointing checkpointing(checkpoint_activations_);
    const auto norm = [norm = cross_norm_, type](const std::vector<at::Tensor>& in) {
      return norm->forward(in[0]).to(type);
    };
    const at::Tensor y = cross_attention_->forward(checkpointing.run(norm, {tokens}), text);
    checkpointing.free_until_backward_of(y);
    return tokens + y.to(tokens.scalar_type());
  };
  const at::Tensor mixed = modulated_branch(
      x, 0, [&](const at::Tensor& normed) { return mixer_->advance(normed, layout, state); });
  return modulated_branch(cross_branch(mixed), 3,
                          [&](const at::Tensor& normed) { return feed_forward_->forward(normed); });
}

}  // namespace lact::models
