#include "lact/models/vae/loss.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"

namespace lact::models {

namespace {

/// A variance beyond these would overflow or vanish in float32.
constexpr double kLeastLogVariance = -30, kMostLogVariance = 20;
constexpr double kLeastDeviation = 1e-6;

std::vector<double> numbers_of(const at::Tensor& values) {
  const at::Tensor flat = values.to(at::kCPU).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

}  // namespace

VaeLoss vae_loss(const Vae& model, const at::Tensor& clip, const VaeLossOptions& options,
                 std::optional<at::Generator> generator) {
  const LatentMoments moments = model.encode(clip);
  const at::Tensor log_variance = moments.log_variance.clamp(kLeastLogVariance, kMostLogVariance);
  const c10::optional<at::Generator> source =
      generator ? c10::optional<at::Generator>(*generator) : c10::nullopt;
  const at::Tensor noise = at::randn(moments.mean.sizes(), source, moments.mean.options());
  const at::Tensor latents = moments.mean + (0.5 * log_variance).exp() * noise;
  VaeLoss loss;
  loss.reconstruction = (model.decode(latents) - clip).abs().mean();
  loss.divergence = 0.5 * (moments.mean.square() + log_variance.exp() - 1 - log_variance).mean();
  loss.total = loss.reconstruction + options.kl_weight * loss.divergence;
  return loss;
}

void LatentStatistics::add(const at::Tensor& latents) {
  LACT_CHECK(latents.dim() == 5 && (!sum_.defined() || latents.size(1) == sum_.size(0)),
             "[vae] latents of shape {}, expected [batch, {}, frames, rows, columns]", latents.sizes().vec(),
             sum_.defined() ? std::to_string(sum_.size(0)) : "channels");
  const at::Tensor wide = latents.detach().to(at::kDouble);
  const at::Tensor sum = wide.sum({0, 2, 3, 4}), squares = wide.square().sum({0, 2, 3, 4});
  sum_ = sum_.defined() ? sum_ + sum : sum;
  squares_ = squares_.defined() ? squares_ + squares : squares;
  count_ += latents.numel() / latents.size(1);
}

std::vector<double> LatentStatistics::mean() const {
  LACT_CHECK(count_ > 0, "[vae] no latents were added");
  return numbers_of(sum_ / double(count_));
}

std::vector<double> LatentStatistics::std() const {
  LACT_CHECK(count_ > 0, "[vae] no latents were added");
  const at::Tensor variance = squares_ / double(count_) - (sum_ / double(count_)).square();
  return numbers_of(variance.clamp_min(kLeastDeviation * kLeastDeviation).sqrt());
}

}  // namespace lact::models
