#include "lact/tasks/nvs/splatting/optimisation.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <numeric>

#include "lact/base/error.h"
#include "lact/base/random.h"
#include "lact/ops/losses/l1_dssim.h"
#include "lact/tasks/nvs/gaussian_scene.h"
#include "lact/tasks/nvs/splatting/initial.h"

namespace lact::tasks::nvs {

namespace {

Population first_population(const SplatConfig& config, int64_t seed, const data::PosedImages& photos,
                            const data::ScenePoints& points) {
  return Population(initial_gaussians(
      points.places.empty() ? random_points(photos.cameras, config, seed) : points, config, seed));
}

}  // namespace

SplatOptimisation::SplatOptimisation(const SplatConfig& config, int64_t seed, const data::PosedImages& photos,
                                     const data::ScenePoints& points)
    : config_(config),
      seed_(seed),
      extent_(extent_of(photos.cameras)),
      population_(first_population(config, seed, photos, points)),
      strategy_(make_strategy(config, extent_)),
      exposures_(int64_t(photos.images.size())) {
  LACT_CHECK(!photos.images.empty(), "[splat] there are no photos to learn from");
  for (size_t i = 0; i < photos.images.size(); ++i) {
    cameras_.push_back(splat_camera_of(photos.cameras[i]));
    photos_.push_back(photos.images[i].unsqueeze(0).contiguous());
  }
}

/// Each round shows every photo once, in an order that only the seed and the round decide.
size_t SplatOptimisation::photo_of_step() {
  const auto count = int64_t(photos_.size());
  if (const int64_t round = steps_ / count; round != round_) {
    round_ = round;
    order_.resize(photos_.size());
    std::iota(order_.begin(), order_.end(), size_t(0));
    Random random(mix(uint64_t(seed_), uint64_t(round)));
    random.shuffle(order_);
  }
  return order_[size_t(steps_ % count)];
}

double SplatOptimisation::position_rate(double share) const {
  const SplatRates& rates = config_.rates;
  if (rates.position == 0) return 0;
  return extent_ * rates.position * std::pow(rates.position_end / rates.position, share);
}

int64_t SplatOptimisation::degree(double share) const {
  if (config_.degree_until == 0) return config_.degree;
  const double each = config_.degree_until / double(std::max<int64_t>(1, config_.degree));
  return std::min(config_.degree, int64_t(share / each));
}

/// Those that are left are denser, o / (1 - share left out), so that the picture is as opaque as before.
ops::Gaussians SplatOptimisation::thinned(double share) const {
  ops::Gaussians gaussians = population_.gaussians();
  const double dropped = config_.dropout * share;
  if (dropped == 0) return gaussians;
  auto generator = at::detail::createCPUGenerator(mix(mix(uint64_t(seed_), 0xd209), uint64_t(steps_)));
  const at::Tensor kept = at::rand({gaussians.size()}, generator).ge(dropped);
  const at::Tensor denser = (at::sigmoid(gaussians.opacity_logits) / (1 - dropped)).clamp_max(0.999);
  constexpr double kUnseen = -20;
  gaussians.opacity_logits = at::where(kept, at::logit(denser), at::full_like(denser, kUnseen));
  return gaussians;
}

double SplatOptimisation::step(double share) {
  const size_t photo = photo_of_step();
  const ops::Gaussians& gaussians = population_.gaussians();
  ops::SplatOptions options;
  options.degree = degree(share);
  options.background = config_.background_colour();
  if (strategy_->watches_places()) options.screen_offsets = at::zeros({gaussians.size(), 2}).requires_grad_();
  const ops::SplatImage picture = ops::splat(thinned(share), cameras_[photo], options);
  const bool exposed = config_.rates.exposure > 0;
  const at::Tensor seen = exposed ? exposures_.seen(picture.image, int64_t(photo)) : picture.image;
  const at::Tensor difference = ops::l1_dssim(seen.unsqueeze(0), photos_[photo], config_.dssim);
  const at::Tensor penalty = strategy_->penalty(gaussians);
  (penalty.defined() ? difference + penalty : difference).backward();
  const double loss = difference.item<double>();
  LACT_CHECK(std::isfinite(loss), "[splat] the loss of step {} is {}; lower the rates", steps_ + 1, loss);
  if (strategy_->watches_places()) strategy_->watch(picture, options.screen_offsets);

  const double rate = position_rate(share);
  population_.step(config_.rates, rate);
  if (exposed) exposures_.step(config_.rates);
  ++steps_;
  strategy_->after_step(population_, {.number = steps_,
                                      .share = share,
                                      .before = share_before_,
                                      .position_rate = rate,
                                      .seed = mix(mix(uint64_t(seed_), 0x57e9), uint64_t(steps_))});
  share_before_ = share;
  return loss;
}

void SplatOptimisation::save(io::TensorFile& file) const {
  population_.save(file.tensors);
  strategy_->save(file.tensors);
  if (config_.rates.exposure > 0) exposures_.save(file.tensors);
  file.tensors["progress"] = at::tensor({double(steps_), share_before_}, at::kDouble);
}

void SplatOptimisation::load(const io::TensorFile& file, const std::string& path) {
  const auto progress = file.tensors.find("progress");
  LACT_CHECK(progress != file.tensors.end() && progress->second.scalar_type() == at::kDouble &&
                 progress->second.numel() == 2 && progress->second.isfinite().all().item<bool>(),
             "{}: has no progress of two numbers", path);
  population_ = Population::load(file.tensors, path);
  const int64_t coefficients = (config_.degree + 1) * (config_.degree + 1);
  LACT_CHECK(population_.gaussians().harmonics.size(1) == coefficients,
             "{}: colours have {} coefficients, expected {}", path, population_.gaussians().harmonics.size(1),
             coefficients);
  strategy_->load(file.tensors, path, population_.size());
  if (config_.rates.exposure > 0) exposures_.load(file.tensors, path);
  steps_ = int64_t(progress->second[0].item<double>());
  share_before_ = progress->second[1].item<double>();
  round_ = -1;
}

}  // namespace lact::tasks::nvs
