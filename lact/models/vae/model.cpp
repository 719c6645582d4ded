#include "lact/models/vae/model.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"

namespace lact::models {

namespace {

struct VaeLayers : torch::nn::Module {};

void check_pixels(const at::Tensor& pixels, const VaeConfig& config, bool first_piece) {
  LACT_CHECK(pixels.dim() == 5 && pixels.size(1) == kPixelChannels && pixels.size(0) > 0,
             "[vae] a clip has shape {}, expected [batch, {}, frames, height, width]", pixels.sizes().vec(),
             kPixelChannels);
  const int64_t side = config.spatial(), step = config.temporal(), frames = pixels.size(2);
  LACT_CHECK(
      pixels.size(3) > 0 && pixels.size(4) > 0 && pixels.size(3) % side == 0 && pixels.size(4) % side == 0,
      "[vae] pictures of {} x {} pixels, expected multiples of {}", pixels.size(3), pixels.size(4), side);
  if (first_piece) {
    LACT_CHECK(frames >= 1 && frames % step == 1 % step,
               "[vae] a clip of {} frames, expected 1 + {} n: 1, {}, {}, ...", frames, step, 1 + step,
               1 + 2 * step);
  } else {
    LACT_CHECK(frames >= 1 && frames % step == 0,
               "[vae] a further piece of {} frames, expected a multiple of {}", frames, step);
  }
}

void check_latents(const at::Tensor& latents, const VaeConfig& config) {
  LACT_CHECK(latents.dim() == 5 && latents.size(1) == config.latent_channels && latents.numel() > 0,
             "[vae] latents have shape {}, expected [batch, {}, frames, rows, columns]",
             latents.sizes().vec(), config.latent_channels);
}

}  // namespace

template <class Layer>
void VaeStack::add(torch::nn::Module& owner, const std::string& name, std::shared_ptr<Layer> layer) {
  owner.register_module(name, layer);
  layers_.push_back(std::move(layer));
}

void VaeStack::add_middle(int64_t channels) {
  const auto middle = register_module("middle", std::make_shared<VaeLayers>());
  add(*middle, "0", std::make_shared<ResidualBlock>(channels, channels));
  add(*middle, "1", std::make_shared<FrameAttention>(channels));
  add(*middle, "2", std::make_shared<ResidualBlock>(channels, channels));
}

at::Tensor VaeStack::forward(const at::Tensor& x, FrameCaches* caches) const {
  if (caches != nullptr) caches->rewind();
  at::Tensor hidden = x;
  for (const auto& layer : layers_) hidden = layer->forward(hidden, caches);
  if (caches != nullptr) caches->advance(x.size(2));
  return hidden;
}

VaeEncoder::VaeEncoder(const VaeConfig& config) {
  const std::vector<int64_t> widths = config.channels();
  int64_t width = config.base_channels, index = 0;
  add(*this, "conv1", std::make_shared<CausalConv>(kPixelChannels, width, 3, 3));
  const auto down = register_module("downsamples", std::make_shared<VaeLayers>());
  for (size_t stage = 0; stage < widths.size(); ++stage) {
    for (int64_t i = 0; i < config.residual_blocks; ++i) {
      add(*down, std::to_string(index++), std::make_shared<ResidualBlock>(width, widths[stage]));
      width = widths[stage];
    }
    if (stage + 1 < widths.size())
      add(*down, std::to_string(index++),
          std::make_shared<Downsample>(width, config.time_strides[stage] == 2));
  }
  add_middle(width);
  add(*this, "head", std::make_shared<VaeHead>(width, 2 * config.latent_channels));
}

VaeDecoder::VaeDecoder(const VaeConfig& config) {
  const std::vector<int64_t> widths = config.channels();
  int64_t width = widths.back(), index = 0;
  add(*this, "conv1", std::make_shared<CausalConv>(config.latent_channels, width, 3, 3));
  add_middle(width);
  const auto up = register_module("upsamples", std::make_shared<VaeLayers>());
  for (size_t stage = widths.size(); stage-- > 0;) {
    for (int64_t i = 0; i < config.residual_blocks + 1; ++i) {
      add(*up, std::to_string(index++), std::make_shared<ResidualBlock>(width, widths[stage]));
      width = widths[stage];
    }
    if (stage == 0) continue;
    add(*up, std::to_string(index++), std::make_shared<Upsample>(width, config.time_strides[stage - 1] == 2));
    width /= 2;
  }
  add(*this, "head", std::make_shared<VaeHead>(width, kPixelChannels));
}

Vae::Vae(const VaeConfig& config) : config_(config) {
  config.check();
  const int64_t latent = config.latent_channels;
  encoder_ = register_module("encoder", std::make_shared<VaeEncoder>(config));
  conv1_ = register_module("conv1", std::make_shared<CausalConv>(2 * latent, 2 * latent, 1, 1));
  conv2_ = register_module("conv2", std::make_shared<CausalConv>(latent, latent, 1, 1));
  decoder_ = register_module("decoder", std::make_shared<VaeDecoder>(config));
}

LatentMoments Vae::encode(const at::Tensor& pixels, FrameCaches* caches) const {
  check_pixels(pixels, config_, caches == nullptr || caches->at_first_frame());
  const at::Tensor x = pixels.to(conv1_->weight.options());
  const auto halves = conv1_->forward(encoder_->forward(x, caches), nullptr).chunk(2, 1);
  return {halves[0].to(pixels.device()), halves[1].to(pixels.device())};
}

at::Tensor Vae::decode(const at::Tensor& latents, FrameCaches* caches) const {
  check_latents(latents, config_);
  return decoder_->forward(conv2_->forward(latents.to(conv2_->weight.options()), nullptr), caches)
      .to(latents.device());
}

at::Tensor Vae::per_channel(const std::vector<double>& values, double otherwise,
                            const at::Tensor& latents) const {
  check_latents(latents, config_);
  const auto count = config_.latent_channels;
  const at::Tensor numbers =
      values.empty() ? at::full({count}, otherwise, at::kDouble) : at::tensor(values, at::kDouble);
  return numbers.to(latents.options()).reshape({count, 1, 1, 1});
}

at::Tensor Vae::scaled(const at::Tensor& latents) const {
  return (latents - per_channel(config_.latent_mean, 0, latents)) /
         per_channel(config_.latent_std, 1, latents);
}

at::Tensor Vae::unscaled(const at::Tensor& latents) const {
  return latents * per_channel(config_.latent_std, 1, latents) + per_channel(config_.latent_mean, 0, latents);
}

void Vae::set_latent_scale(const std::vector<double>& mean, const std::vector<double>& std) {
  VaeConfig changed = config_;
  changed.latent_mean = mean;
  changed.latent_std = std;
  changed.check();
  config_ = changed;
}

}  // namespace lact::models
