// Gaussians as samples: random steps that faint ones take, dead ones that are put where others are, and a
// fixed number of them in the end.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lact/base/random.h"
#include "lact/ops/dispatch/work_items.h"
#include "lact/tasks/nvs/splatting/normal_numbers.h"
#include "lact/tasks/nvs/splatting/relocation.h"
#include "lact/tasks/nvs/splatting/shape.h"
#include "lact/tasks/nvs/splatting/strategy.h"

namespace lact::tasks::nvs {

namespace {

/// `count` numbers of Gaussians, drawn in proportion to `weights`.
std::vector<int64_t> draw(const std::vector<double>& weights, int64_t count, Random& random) {
  std::vector<double> sums(weights.size());
  double total = 0;
  for (size_t i = 0; i < weights.size(); ++i) sums[i] = total += weights[i];
  std::vector<int64_t> drawn;
  for (int64_t i = 0; i < count; ++i) {
    const auto place = std::upper_bound(sums.begin(), sums.end(), random.uniform() * total);
    drawn.push_back(std::min<int64_t>(place - sums.begin(), int64_t(sums.size()) - 1));
  }
  return drawn;
}

class Mcmc : public Strategy {
 public:
  Mcmc(const SplatConfig& config, double extent)
      : config_(config.mcmc), most_(config.most), extent_(extent) {}

  at::Tensor penalty(const ops::Gaussians& gaussians) const override {
    return config_.opacity_penalty * gaussians.opacity_logits.sigmoid().mean() +
           config_.scale_penalty / extent_ * gaussians.log_scales.exp().mean();
  }

  void after_step(Population& population, const SplatStep& step) override {
    at::NoGradGuard no_grad;
    if (is_due(step, config_)) {
      Random random(step.seed);
      revive(population, random);
      grow(population, random);
    }
    move(population, step);
  }

 private:
  std::vector<double> opacities(const Population& population) const {
    const at::Tensor values = population.gaussians().opacity_logits.detach().sigmoid().to(at::kDouble);
    return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
  }

  /// Shares out what the drawn Gaussians are among them and their copies: `changed` gets the new opacities
  /// and sizes of all that were drawn.
  void share_out(ops::Gaussians& changed, const std::vector<double>& opacity,
                 const std::vector<int64_t>& drawn) const {
    std::vector<int64_t> copies(opacity.size(), 1);
    for (const int64_t number : drawn) ++copies[size_t(number)];
    auto logits = changed.opacity_logits.accessor<float, 1>();
    auto scales = changed.log_scales.accessor<float, 2>();
    for (size_t i = 0; i < opacity.size(); ++i) {
      if (copies[i] == 1) continue;
      const Relocation each = relocate(std::min(opacity[i], 1 - 1e-6), copies[i]);
      logits[int64_t(i)] = float(opacity_logit(std::clamp(each.opacity, config_.least_opacity, 1 - 1e-6)));
      for (int64_t axis = 0; axis < 3; ++axis) scales[int64_t(i)][axis] += float(std::log(each.scale_factor));
    }
  }

  /// Dead Gaussians become copies of living ones.
  void revive(Population& population, Random& random) const {
    const std::vector<double> opacity = opacities(population);
    std::vector<int64_t> dead;
    std::vector<double> weights = opacity;
    for (size_t i = 0; i < opacity.size(); ++i) {
      if (opacity[i] > config_.least_opacity) continue;
      dead.push_back(int64_t(i));
      weights[i] = 0;
    }
    if (dead.empty() || dead.size() == opacity.size()) return;
    const std::vector<int64_t> drawn = draw(weights, int64_t(dead.size()), random);
    ops::Gaussians changed = ops::map_fields(population.gaussians(),
                                             [](const at::Tensor& field) { return field.detach().clone(); });
    share_out(changed, opacity, drawn);
    const at::Tensor to = at::tensor(dead, at::kLong), from = at::tensor(drawn, at::kLong);
    for (at::Tensor* field : changed.fields()) field->index_copy_(0, to, field->index_select(0, from));
    population.set(changed);
    population.forget(from);
    population.forget(to);
  }

  void grow(Population& population, Random& random) const {
    const int64_t count = population.size();
    const int64_t target =
        std::min(most_, count + std::max<int64_t>(1, int64_t(config_.growth * double(count))));
    if (target <= count || config_.growth == 0) return;
    const std::vector<double> opacity = opacities(population);
    const std::vector<int64_t> drawn = draw(opacity, target - count, random);
    ops::Gaussians changed = ops::map_fields(population.gaussians(),
                                             [](const at::Tensor& field) { return field.detach().clone(); });
    share_out(changed, opacity, drawn);
    const at::Tensor from = at::tensor(drawn, at::kLong);
    population.set(changed);
    population.append(
        ops::map_fields(changed, [&](const at::Tensor& field) { return field.index_select(0, from); }));
  }

  /// μ ← μ + Σ n · rate · gate: the fainter a Gaussian, the further. In units of the extent, as positions
  /// are.
  void move(Population& population, const SplatStep& step) const {
    if (config_.noise == 0) return;
    const ops::Gaussians& gaussians = population.gaussians();
    const auto *logits = gaussians.opacity_logits.data_ptr<float>(),
               *quaternions = gaussians.quaternions.data_ptr<float>(),
               *scales = gaussians.log_scales.data_ptr<float>();
    auto* means = gaussians.means.data_ptr<float>();
    const double strength = config_.noise * step.position_rate / (extent_ * extent_);
    constexpr int64_t kEach = 2048;
    const int64_t count = population.size();
    ops::for_each_item((count + kEach - 1) / kEach, [&](int64_t item, int64_t) {
      for (int64_t i = item * kEach; i < std::min(count, (item + 1) * kEach); ++i) {
        const double opacity = 1 / (1 + std::exp(-double(logits[i])));
        const double gate = 1 / (1 + std::exp(config_.noise_gate * (opacity - config_.least_opacity)));
        if (strength * gate < 1e-12) continue;
        const Matrix3 spread = spread_of(quaternions + 4 * i, scales + 3 * i);
        const auto way = times(spread, transposed_times(spread, normal_numbers(step.seed, i)));
        for (int64_t axis = 0; axis < 3; ++axis)
          means[3 * i + axis] += float(strength * gate * way[size_t(axis)]);
      }
    });
  }

  McmcConfig config_;
  int64_t most_;
  double extent_;
};

}  // namespace

std::unique_ptr<Strategy> make_mcmc(const SplatConfig& config, double extent) {
  return std::make_unique<Mcmc>(config, extent);
}

}  // namespace lact::tasks::nvs
