// Adaptive density control: Gaussians that the loss pulls about the picture are doubled where they are small,
// and split where they are large; faint and huge ones are removed; now and then all become faint, so that
// only those come back that are needed.
#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/tasks/nvs/splatting/normal_numbers.h"
#include "lact/tasks/nvs/splatting/shape.h"
#include "lact/tasks/nvs/splatting/strategy.h"

namespace lact::tasks::nvs {

namespace {

constexpr size_t kOpacityField = 3;

class Classic : public Strategy {
 public:
  Classic(const SplatConfig& config, double extent)
      : config_(config.classic), most_(config.most), extent_(extent) {}

  bool watches_places() const override { return true; }

  void watch(const ops::SplatImage& picture, const at::Tensor& offsets) override {
    const at::Tensor& gradient = offsets.grad();
    if (!gradient.defined()) return;
    at::NoGradGuard no_grad;
    // In halves of the picture, as the threshold is meant.
    const at::Tensor halves = at::tensor(
        {double(picture.image.size(2)) / 2, double(picture.image.size(1)) / 2}, gradient.options());
    const at::Tensor seen = picture.radii.select(1, 0).gt(0);
    start(offsets.size(0));
    pull_ += (gradient * halves).norm(2, 1) * seen;
    seen_ += seen;
  }

  void after_step(Population& population, const SplatStep& step) override {
    at::NoGradGuard no_grad;
    if (is_due(step, config_)) {
      start(population.size());
      refine(population, step);
      pull_ = seen_ = at::Tensor();
    }
    if (resets_now(step)) {
      ops::Gaussians changed = population.gaussians();
      const double highest = opacity_logit(config_.reset_opacity);
      changed.opacity_logits = changed.opacity_logits.detach().clamp_max(highest);
      population.set(changed);
      population.forget_field(kOpacityField);
    }
  }

  void save(std::map<std::string, at::Tensor>& tensors) const override {
    if (!pull_.defined()) return;
    tensors["classic.pull"] = pull_;
    tensors["classic.seen"] = seen_;
  }

  void load(const std::map<std::string, at::Tensor>& tensors, const std::string& file,
            int64_t count) override {
    pull_ = seen_ = at::Tensor();
    const auto pull = tensors.find("classic.pull"), seen = tensors.find("classic.seen");
    if (pull == tensors.end() || seen == tensors.end()) return;
    for (const at::Tensor& stored : {pull->second, seen->second})
      LACT_CHECK(stored.scalar_type() == at::kFloat && stored.sizes() == at::IntArrayRef({count}),
                 "{}: classic.pull or classic.seen has shape {}, expected [{}]", file, stored.sizes().vec(),
                 count);
    pull_ = pull->second.clone();
    seen_ = seen->second.clone();
  }

 private:
  void start(int64_t count) {
    if (pull_.defined() && pull_.size(0) == count) return;
    pull_ = at::zeros({count});
    seen_ = at::zeros({count});
  }

  bool resets_now(const SplatStep& step) const {
    if (config_.reset_every == 0 || step.share >= config_.refine_until) return false;
    return std::floor(step.share / config_.reset_every) > std::floor(step.before / config_.reset_every);
  }

  void refine(Population& population, const SplatStep& step) {
    const ops::Gaussians before = population.gaussians();
    const int64_t count = before.size();
    const at::Tensor size = before.log_scales.detach().amax(1).exp();
    at::Tensor pulled = (pull_ / seen_.clamp_min(1)).ge(config_.gradient);
    if (const int64_t room = most_ - count; pulled.sum().item<int64_t>() > room) {
      // As many as there is room for, those first that are pulled most.
      const at::Tensor order = std::get<1>((pull_ / seen_.clamp_min(1)).sort(/*stable=*/true, 0, true));
      at::Tensor allowed = at::zeros_like(pulled);
      if (room > 0) allowed.index_fill_(0, order.narrow(0, 0, room), true);
      pulled = pulled.logical_and(allowed);
    }
    const at::Tensor small = size.le(config_.small * extent_);
    const at::Tensor doubled = pulled.logical_and(small).nonzero().squeeze(1);
    const at::Tensor split = pulled.logical_and(small.logical_not());
    const at::Tensor parents = split.nonzero().squeeze(1);
    const auto rows_of = [&](const at::Tensor& numbers) {
      return ops::map_fields(
          before, [&](const at::Tensor& field) { return field.detach().index_select(0, numbers); });
    };
    population.append(rows_of(doubled));
    for (uint64_t half = 0; half < 2; ++half) {
      ops::Gaussians part = rows_of(parents);
      scatter(part, mix(step.seed, half));
      part.log_scales = part.log_scales - std::log(config_.shrink);
      population.append(part);
    }

    const ops::Gaussians& now = population.gaussians();
    at::Tensor whole = at::ones({now.size()}, at::kBool);
    whole.narrow(0, 0, count).logical_and_(split.logical_not());
    at::Tensor stays =
        whole.logical_and(now.opacity_logits.detach().ge(opacity_logit(config_.least_opacity)));
    if (step.share > config_.reset_every)
      stays = stays.logical_and(now.log_scales.detach().amax(1).exp().le(config_.large * extent_));
    if (!stays.any().item<bool>()) stays = whole;  // better poor ones than none
    population.keep(stays.nonzero().squeeze(1));
  }

  /// Places drawn from the Gaussians themselves.
  static void scatter(ops::Gaussians& gaussians, uint64_t seed) {
    gaussians.means = gaussians.means.clone();
    auto* means = gaussians.means.data_ptr<float>();
    const auto *quaternions = gaussians.quaternions.data_ptr<float>(),
               *scales = gaussians.log_scales.data_ptr<float>();
    for (int64_t i = 0; i < gaussians.size(); ++i) {
      const auto way = times(spread_of(quaternions + 4 * i, scales + 3 * i), normal_numbers(seed, i));
      for (int64_t axis = 0; axis < 3; ++axis) means[3 * i + axis] += float(way[size_t(axis)]);
    }
  }

  ClassicConfig config_;
  int64_t most_;
  double extent_;
  at::Tensor pull_,
      seen_;  ///< sums over the views since the last time: |gradient| of the place, and sightings
};

}  // namespace

std::unique_ptr<Strategy> make_classic(const SplatConfig& config, double extent) {
  return std::make_unique<Classic>(config, extent);
}

}  // namespace lact::tasks::nvs
