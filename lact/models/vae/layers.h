// Layers of the causal video autoencoder, under the names of the published weights. Tensors are
// [B, C, frames, H, W]. With caches, x is the next piece of a clip; without, it is a whole clip.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <vector>

#include "lact/models/vae/frame_caches.h"

namespace lact::models {

class FrameLayer : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x, FrameCaches* caches) const = 0;
};

/// The parameters of a convolution of pictures.
class Convolution : public torch::nn::Module {
 public:
  /// A kernel of `side` x `side` places.
  Convolution(int64_t in, int64_t out, int64_t side);

  at::Tensor weight;  ///< [out, in, side, side]
  at::Tensor bias;    ///< [out]
};

/// A convolution over rows, columns and the frames up to the current one.
class CausalConv : public FrameLayer {
 public:
  /// A kernel of `frames` frames and `side` x `side` places; the picture keeps its size.
  CausalConv(int64_t in, int64_t out, int64_t frames, int64_t side);

  at::Tensor forward(const at::Tensor& x, FrameCaches* caches) const override;

  /// On frames that have their past before them already; every `stride`th frame.
  at::Tensor forward_joined(const at::Tensor& joined, int64_t stride) const;

  at::Tensor weight;  ///< [out, in, frames, side, side]
  at::Tensor bias;    ///< [out]
};

/// x / |x|_2 · sqrt(C) · gamma over the channels of each place.
class ChannelNorm : public torch::nn::Module {
 public:
  /// gamma is [C] and `trailing` ones.
  ChannelNorm(int64_t channels, int64_t trailing);
  at::Tensor forward(const at::Tensor& x) const;
  at::Tensor gamma;
};

/// x + conv(silu(norm(conv(silu(norm(x)))))); a 1 x 1 x 1 convolution of x where the channels change.
class ResidualBlock : public FrameLayer {
 public:
  ResidualBlock(int64_t in, int64_t out);
  at::Tensor forward(const at::Tensor& x, FrameCaches* caches) const override;

 private:
  std::shared_ptr<ChannelNorm> norm1_, norm2_;
  std::shared_ptr<CausalConv> conv1_, conv2_, shortcut_;
};

/// conv(silu(norm(x)))
class VaeHead : public FrameLayer {
 public:
  VaeHead(int64_t in, int64_t out);
  at::Tensor forward(const at::Tensor& x, FrameCaches* caches) const override;

 private:
  std::shared_ptr<ChannelNorm> norm_;
  std::shared_ptr<CausalConv> conv_;
};

/// x + attention of one head inside each frame.
class FrameAttention : public FrameLayer {
 public:
  explicit FrameAttention(int64_t channels);
  at::Tensor forward(const at::Tensor& x, FrameCaches* caches) const override;

 private:
  std::shared_ptr<ChannelNorm> norm_;
  std::shared_ptr<Convolution> to_qkv_, proj_;
};

/// To half the height and width, and half the frames if `time`: the clip's first frame stays, then every two
/// become one.
class Downsample : public FrameLayer {
 public:
  Downsample(int64_t channels, bool time);
  at::Tensor forward(const at::Tensor& x, FrameCaches* caches) const override;

 private:
  at::Tensor halve_time(const at::Tensor& x, FrameCaches* caches) const;

  std::shared_ptr<Convolution> conv_;
  std::shared_ptr<CausalConv> time_conv_;
};

/// To twice the height and width with half the channels, and twice the frames if `time`: the clip's first
/// frame stays one, and the others do not see it there.
class Upsample : public FrameLayer {
 public:
  Upsample(int64_t channels, bool time);
  at::Tensor forward(const at::Tensor& x, FrameCaches* caches) const override;

 private:
  at::Tensor double_time(const at::Tensor& x, FrameCaches* caches) const;

  std::shared_ptr<Convolution> conv_;
  std::shared_ptr<CausalConv> time_conv_;
};

}  // namespace lact::models
