#include "lact/models/vae/layers.h"

#include <ATen/ATen.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <tuple>

#include "lact/base/error.h"
#include "lact/nn/init.h"
#include "lact/ops/attention/windows.h"

namespace lact::models {

namespace {

/// A module that only holds others or parameters, for the published names.
struct VaeGroup : torch::nn::Module {};

std::shared_ptr<VaeGroup> add_group(torch::nn::Module& owner, const std::string& name) {
  return owner.register_module(name, std::make_shared<VaeGroup>());
}

/// Weight [out, in, ...] and bias, from U(-1/sqrt(inputs), 1/sqrt(inputs)).
std::pair<at::Tensor, at::Tensor> add_convolution(torch::nn::Module& owner,
                                                  const std::vector<int64_t>& sizes) {
  const int64_t inputs = std::accumulate(sizes.begin() + 1, sizes.end(), int64_t(1), std::multiplies<>());
  const double bound = 1 / std::sqrt(double(inputs));
  const auto drawn = [&](const char* name, at::IntArrayRef shape) {
    const at::Tensor values = owner.register_parameter(name, at::empty(shape));
    nn::init_uniform(values, bound);
    return values;
  };
  const at::Tensor weight = drawn("weight", sizes);
  return {weight, drawn("bias", {sizes[0]})};
}

/// LibTorch leaves small single clips to a path ten times slower than oneDNN's.
bool is_one_dnn_inference(const at::Tensor& x, const at::Tensor& weight) {
  return at::hasMKLDNN() && at::globalContext().userEnabledMkldnn() && x.device().is_cpu() &&
         x.scalar_type() == at::kFloat && x.size(0) == 1 && x.numel() > 0 &&
         !(at::GradMode::is_enabled() && (x.requires_grad() || weight.requires_grad()));
}

at::Tensor vae_convolve(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                        const std::vector<int64_t>& stride, const std::vector<int64_t>& padding) {
  if (is_one_dnn_inference(x, weight))
    return at::mkldnn_convolution(x.contiguous(), weight, bias, padding, stride, {1, 1, 1}, 1);
  return at::conv3d(x, weight, bias, stride, padding);
}

/// A 3 x 3 convolution of each frame with the weights [out, in, 3, 3] of `layer`.
at::Tensor convolve_frames(const at::Tensor& x, const Convolution& layer, int64_t stride, int64_t padding) {
  return vae_convolve(x, layer.weight.unsqueeze(2), layer.bias, {1, stride, stride}, {0, padding, padding});
}

/// Whether the first frame of x is the first of its clip.
bool begins_clip(const FrameCaches* caches) { return caches == nullptr || caches->at_first_frame(); }

}  // namespace

Convolution::Convolution(int64_t in, int64_t out, int64_t side) {
  std::tie(weight, bias) = add_convolution(*this, {out, in, side, side});
}

CausalConv::CausalConv(int64_t in, int64_t out, int64_t frames, int64_t side) {
  std::tie(weight, bias) = add_convolution(*this, {out, in, frames, side, side});
}

at::Tensor CausalConv::forward(const at::Tensor& x, FrameCaches* caches) const {
  const int64_t before = weight.size(2) - 1;
  return forward_joined(before == 0 ? x : with_frames_before(x, before, caches), 1);
}

at::Tensor CausalConv::forward_joined(const at::Tensor& joined, int64_t stride) const {
  return vae_convolve(joined, weight, bias, {stride, 1, 1}, {0, weight.size(3) / 2, weight.size(4) / 2});
}

ChannelNorm::ChannelNorm(int64_t channels, int64_t trailing) {
  std::vector<int64_t> sizes(size_t(1 + trailing), 1);
  sizes[0] = channels;
  gamma = register_parameter("gamma", at::ones(sizes));
}

at::Tensor ChannelNorm::forward(const at::Tensor& x) const {
  const at::Tensor length = x.norm(2, {1}, /*keepdim=*/true).clamp_min(1e-12);
  const at::Tensor scale = gamma.reshape({-1, 1, 1, 1}) * std::sqrt(double(gamma.size(0)));
  return x / length * scale;
}

ResidualBlock::ResidualBlock(int64_t in, int64_t out) {
  const auto residual = add_group(*this, "residual");
  norm1_ = residual->register_module("0", std::make_shared<ChannelNorm>(in, 3));
  conv1_ = residual->register_module("2", std::make_shared<CausalConv>(in, out, 3, 3));
  norm2_ = residual->register_module("3", std::make_shared<ChannelNorm>(out, 3));
  conv2_ = residual->register_module("6", std::make_shared<CausalConv>(out, out, 3, 3));
  if (in != out) shortcut_ = register_module("shortcut", std::make_shared<CausalConv>(in, out, 1, 1));
}

at::Tensor ResidualBlock::forward(const at::Tensor& x, FrameCaches* caches) const {
  at::Tensor y = conv1_->forward(at::silu(norm1_->forward(x)), caches);
  y = conv2_->forward(at::silu(norm2_->forward(y)), caches);
  return (shortcut_ ? shortcut_->forward(x, caches) : x) + y;
}

VaeHead::VaeHead(int64_t in, int64_t out) {
  norm_ = register_module("0", std::make_shared<ChannelNorm>(in, 3));
  conv_ = register_module("2", std::make_shared<CausalConv>(in, out, 3, 3));
}

at::Tensor VaeHead::forward(const at::Tensor& x, FrameCaches* caches) const {
  return conv_->forward(at::silu(norm_->forward(x)), caches);
}

FrameAttention::FrameAttention(int64_t channels) {
  norm_ = register_module("norm", std::make_shared<ChannelNorm>(channels, 2));
  to_qkv_ = register_module("to_qkv", std::make_shared<Convolution>(channels, 3 * channels, 1));
  proj_ = register_module("proj", std::make_shared<Convolution>(channels, channels, 1));
  at::NoGradGuard no_grad;
  proj_->weight.zero_();
}

at::Tensor FrameAttention::forward(const at::Tensor& x, FrameCaches*) const {
  const int64_t channels = x.size(1), places = x.size(3) * x.size(4);
  const auto linear = [](const at::Tensor& tokens, const Convolution& layer) {
    return at::linear(tokens, layer.weight.flatten(1), layer.bias);
  };
  // [B · frames, H · W, C]
  const at::Tensor tokens =
      norm_->forward(x).permute({0, 2, 3, 4, 1}).reshape({x.size(0) * x.size(2), places, channels});
  const auto qkv = linear(tokens, *to_qkv_).unsqueeze(2).chunk(3, -1);
  const at::Tensor seen =
      ops::window_attention(qkv[0], qkv[1], qkv[2], ops::block_window(places, places)).squeeze(2);
  const at::Tensor y = linear(seen, *proj_).reshape({x.size(0), x.size(2), x.size(3), x.size(4), channels});
  return x + y.permute({0, 4, 1, 2, 3});
}

Downsample::Downsample(int64_t channels, bool time) {
  conv_ = add_group(*this, "resample")
              ->register_module("1", std::make_shared<Convolution>(channels, channels, 3));
  if (time) time_conv_ = register_module("time_conv", std::make_shared<CausalConv>(channels, channels, 3, 1));
}

at::Tensor Downsample::forward(const at::Tensor& x, FrameCaches* caches) const {
  const at::Tensor padded = at::constant_pad_nd(x, {0, 1, 0, 1});  // right and bottom alone, as published
  const at::Tensor small = convolve_frames(padded, *conv_, 2, 0);
  return time_conv_ ? halve_time(small, caches) : small;
}

at::Tensor Downsample::halve_time(const at::Tensor& x, FrameCaches* caches) const {
  const bool first = begins_clip(caches);
  const int64_t frames = x.size(2);
  LACT_ASSERT(frames % 2 == (first ? 1 : 0));
  at::Tensor joined = x;
  if (caches != nullptr) {
    at::Tensor& before = caches->next(x, 1);
    if (!first) joined = at::cat({before, x}, 2);
    before = x.narrow(2, frames - 1, 1).clone();
  }
  if (!first) return time_conv_->forward_joined(joined, 2);
  if (frames == 1) return x;
  return at::cat({x.narrow(2, 0, 1), time_conv_->forward_joined(joined, 2)}, 2);
}

Upsample::Upsample(int64_t channels, bool time) {
  conv_ = add_group(*this, "resample")
              ->register_module("1", std::make_shared<Convolution>(channels, channels / 2, 3));
  if (!time) return;
  time_conv_ = register_module("time_conv", std::make_shared<CausalConv>(channels, 2 * channels, 3, 1));
  // A new model starts by showing every frame twice.
  at::NoGradGuard no_grad;
  time_conv_->weight.zero_();
  time_conv_->bias.zero_();
  time_conv_->weight.select(2, 2).flatten(1).copy_(at::eye(channels).repeat({2, 1}));
}

at::Tensor Upsample::forward(const at::Tensor& x, FrameCaches* caches) const {
  const at::Tensor frames = time_conv_ ? double_time(x, caches) : x;
  const at::Tensor large =
      at::upsample_nearest3d(frames, {frames.size(2), 2 * frames.size(3), 2 * frames.size(4)}, c10::nullopt,
                             c10::nullopt, c10::nullopt);
  return convolve_frames(large, *conv_, 1, 1);
}

at::Tensor Upsample::double_time(const at::Tensor& x, FrameCaches* caches) const {
  const int64_t first = begins_clip(caches) ? 1 : 0;
  const at::Tensor rest = x.narrow(2, first, x.size(2) - first);
  if (rest.size(2) == 0) {
    if (caches != nullptr) caches->next(x, 2);  // stays zero: the next frame sees nothing before it
    return x;
  }
  const at::Tensor pairs = time_conv_->forward(rest, caches);  // [B, 2 C, frames, H, W]
  const auto halves = pairs.chunk(2, 1);
  const at::Tensor doubled = at::stack({halves[0], halves[1]}, 3).flatten(2, 3);
  return first == 1 ? at::cat({x.narrow(2, 0, 1), doubled}, 2) : doubled;
}

}  // namespace lact::models
