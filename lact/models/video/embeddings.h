// What the video model's blocks are told besides their tokens: the time step of each part of the sequence and
// the text.
#pragma once

#include <torch/nn/module.h>

#include "lact/nn/linear.h"

namespace lact::models {

/// [cos(t ω_i), sin(t ω_i)] with ω_i = 10000^(-i / (channels / 2)), computed in float64; [...] -> [...,
/// channels].
at::Tensor sinusoidal_embedding(const at::Tensor& timesteps, int64_t channels);

/// What a time step does to a block: shift, scale and gate of the mixer, then those of the feed-forward.
inline constexpr int64_t kBlockModulations = 6;
/// Shift and scale of the output head.
inline constexpr int64_t kHeadModulations = 2;

struct TimeContext {
  at::Tensor embedding;   ///< [B, parts, M], for the head
  at::Tensor modulation;  ///< [B, parts, 6, M], for the blocks, which add their own
};

/// Always in the precision of its parameters.
class TimeEmbedding : public torch::nn::Module {
 public:
  TimeEmbedding(int64_t frequency_dim, int64_t model_dim);

  /// timesteps [B, parts] in [0, 1000]
  TimeContext forward(const at::Tensor& timesteps) const;

 private:
  int64_t frequency_dim_;
  std::shared_ptr<nn::Linear> in_, out_, projection_;
};

class TextEmbedding : public torch::nn::Module {
 public:
  TextEmbedding(int64_t text_dim, int64_t text_length, int64_t model_dim);

  /// [B, tokens <= text_length, text_dim] -> [B, text_length, M]. A short text is padded with zeros, which
  /// become tokens like any others, as in Wan.
  at::Tensor forward(const at::Tensor& text) const;

 private:
  int64_t text_dim_, text_length_;
  std::shared_ptr<nn::Linear> in_, out_;
};

}  // namespace lact::models
