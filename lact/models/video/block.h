// A block of the video transformer. With shift, scale and gate of the time step, one set for each part of the
// sequence:
//   x ← x + gate₁ · mixer(norm(x) · (1 + scale₁) + shift₁)
//   x ← x + cross_attention(norm(x), text)
//   x ← x + gate₂ · feed_forward(norm(x) · (1 + scale₂) + shift₂)
#pragma once

#include "lact/mixers/mixer.h"
#include "lact/models/video/config.h"
#include "lact/nn/feed_forward.h"
#include "lact/nn/norm.h"
#include "lact/nn/recompute.h"

namespace lact::models {

/// Every token of x attends to every token of the text.
class CrossAttention : public torch::nn::Module {
 public:
  CrossAttention(int64_t model_dim, const CrossAttentionConfig& config);

  /// x [B, T, M], text [B or B · parts, L, M]: one text for a video, or one for each of its equal parts.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& text) const;

 private:
  int64_t num_heads_;
  std::shared_ptr<Projection> projection_;
};

/// norm(x) · (1 + scale) + shift without learned parameters of the norm: x [B, T, M], modulation
/// [B, parts, rows, M] of which two rows are shift and scale; every part has T / parts tokens.
at::Tensor modulated_norm(const at::Tensor& x, const at::Tensor& modulation, int64_t shift, int64_t scale,
                          double epsilon);

class VideoBlock : public torch::nn::Module, public nn::Recomputes {
 public:
  /// The block at index `layer`, which has that layer's mixer.
  VideoBlock(const VideoConfig& config, int64_t layer);

  std::unique_ptr<State> initial_state(int64_t batch) { return mixer_->initial_state(batch); }

  /// x [B, T, M], float32 or wider, whatever the type of the text, in which the layers compute; time
  /// [B, parts, 6, M]. Continues from a state of the mixer and advances it.
  at::Tensor advance(const at::Tensor& x, const at::Tensor& time, const at::Tensor& text,
                     const SequenceLayout& layout, State& state);
  /// The same from the learned initial state.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& time, const at::Tensor& text,
                     const SequenceLayout& layout) {
    return advance(x, time, text, layout, *initial_state(x.size(0)));
  }

 private:
  double norm_epsilon_;
  std::shared_ptr<Mixer> mixer_;
  std::shared_ptr<CrossAttention> cross_attention_;
  std::shared_ptr<nn::Norm> cross_norm_;
  std::shared_ptr<nn::FeedForward> feed_forward_;
  at::Tensor modulation_;  ///< [6, M]
};

}  // namespace lact::models
