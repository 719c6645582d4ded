#include "lact/train/adamw.h"

#include <torch/nn/module.h>

#include <cmath>
#include <numeric>

#include "lact/kernels/adamw.h"
#include "lact/ops/dispatch/paths.h"
#include "lact/ops/dispatch/work_items.h"
#include "lact/train/checkpoint.h"
#include "lact/train/ranges.h"

namespace lact::train {

namespace {

/// What the kernels read: float32, one piece of a processor's memory.
bool is_plain(const at::Tensor& x) {
  return x.is_cpu() && x.layout() == at::kStrided && x.scalar_type() == at::kFloat && x.is_contiguous();
}

bool is_decayed(const at::Tensor& parameter) { return parameter.dim() > 1; }

/// Tensors cut into blocks that are shared out together: the same blocks for any number of threads.
struct Blocks {
  static constexpr int64_t kSize = 1 << 15;
  struct Block {
    size_t tensor;
    int64_t first, count;
  };

  void add(size_t tensor, int64_t elements) {
    for (int64_t first = 0; first < elements; first += kSize) {
      all.push_back({tensor, first, std::min(kSize, elements - first)});
    }
  }
  /// body(block, its index)
  template <class Body>
  void for_each(const Body& body) const {
    ops::for_each_item(int64_t(all.size()), [&](int64_t i, int64_t) { body(all[size_t(i)], size_t(i)); });
  }
  std::vector<Block> all;
};

}  // namespace

void AdamWOptions::check() const {
  LACT_CHECK(beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1,
             "[train] beta1 and beta2 are {} and {}, expected 0 to below 1", beta1, beta2);
  check_range("epsilon", epsilon, 1e-30, 1);  // 0 as float32 would divide 0 by 0
  check_range("weight_decay", weight_decay, 0, 1000);
}

AdamW::AdamW(const torch::nn::Module& model, const AdamWOptions& options, const RateFactor& rate_factor)
    : options_(options) {
  for (const auto& item : model.named_parameters()) {
    if (!item.value().requires_grad()) continue;
    const at::Tensor zeros = at::zeros_like(item.value()).detach();
    slots_.push_back(
        {item.key(), item.value(), zeros, zeros.clone(), rate_factor ? rate_factor(item.key()) : 1});
  }
}

void AdamW::zero_gradients() {
  for (auto& slot : slots_) slot.parameter.mutable_grad() = at::Tensor();
  gradient_factor_ = 1;
}

double AdamW::gradient_norm() const {
  double squares = 0;
  std::vector<const float*> gradients;
  Blocks blocks;
  for (const auto& slot : slots_) {
    const at::Tensor& gradient = slot.parameter.grad();
    if (!gradient.defined()) continue;
    if (ops::fused_paths() && is_plain(gradient)) {
      blocks.add(gradients.size(), gradient.numel());
      gradients.push_back(gradient.data_ptr<float>());
    } else {
      const double norm = gradient.norm().item<double>();
      squares += norm * norm;
    }
  }
  std::vector<double> sums(blocks.all.size());
  const auto run = kernels::adamw_kernels().sum_of_squares;
  blocks.for_each([&](const Blocks::Block& block, size_t i) {
    sums[i] = run(gradients[block.tensor] + block.first, block.count);
  });
  squares = std::accumulate(sums.begin(), sums.end(), squares);
  return std::sqrt(squares) * std::abs(gradient_factor_);
}

void AdamW::scale_gradients(double factor) { gradient_factor_ *= factor; }

void AdamW::step(double step_rate) {
  at::NoGradGuard no_grad;
  ++steps_;
  const double mean_share = 1 - std::pow(options_.beta1, double(steps_));
  const double square_share = 1 - std::pow(options_.beta2, double(steps_));
  Blocks blocks;
  for (size_t i = 0; i < slots_.size(); ++i) {
    auto& [name, parameter, mean, square, rate_factor] = slots_[i];
    const at::Tensor& gradient = parameter.grad();
    if (!gradient.defined()) continue;
    if (ops::fused_paths() && is_plain(parameter) && is_plain(gradient) && is_plain(mean) &&
        is_plain(square)) {
      blocks.add(i, parameter.numel());
      for (const auto& changed : {parameter, mean, square}) changed.unsafeGetTensorImpl()->bump_version();
      continue;
    }
    const at::Tensor scaled = gradient_factor_ == 1 ? gradient : gradient * gradient_factor_;
    mean.lerp_(scaled, 1 - options_.beta1);
    square.mul_(options_.beta2).addcmul_(scaled, scaled, 1 - options_.beta2);
    const double rate = step_rate * rate_factor;
    if (is_decayed(parameter)) parameter.mul_(1 - rate * options_.weight_decay);
    const at::Tensor size = (square / square_share).sqrt_().add_(options_.epsilon);
    parameter.addcdiv_(mean, size, -rate / mean_share);
  }

  const auto kernel_step = [&](const Slot& slot) {
    const double rate = step_rate * slot.rate_factor;
    return kernels::AdamWStep{
        float(gradient_factor_),  float(1 - options_.beta1),
        float(options_.beta2),    float(1 - options_.beta2),
        float(1 / square_share),  is_decayed(slot.parameter) ? float(1 - rate * options_.weight_decay) : 1,
        float(rate / mean_share), float(options_.epsilon)};
  };
  const auto run = kernels::adamw_kernels().step;
  blocks.for_each([&](const Blocks::Block& block, size_t) {
    const Slot& slot = slots_[block.tensor];
    const auto from = [&](const at::Tensor& x) { return x.data_ptr<float>() + block.first; };
    run(kernel_step(slot), from(slot.parameter), from(slot.parameter.grad()), from(slot.mean),
        from(slot.square), block.count);
  });
  gradient_factor_ = 1;
}

void AdamW::save(std::map<std::string, at::Tensor>& tensors) const {
  for (const auto& slot : slots_) {
    tensors["adam.mean." + slot.name] = slot.mean;
    tensors["adam.square." + slot.name] = slot.square;
  }
  tensors["adam.steps"] = at::full({1}, steps_, at::kLong);
}

void AdamW::load(const std::map<std::string, at::Tensor>& tensors, const std::string& file) {
  at::NoGradGuard no_grad;
  for (auto& slot : slots_) {
    restore(slot.mean, tensors, "adam.mean." + slot.name, file);
    restore(slot.square, tensors, "adam.square." + slot.name, file);
  }
  at::Tensor steps = at::zeros({1}, at::kLong);
  restore(steps, tensors, "adam.steps", file);
  steps_ = steps.item<int64_t>();
  LACT_CHECK(steps_ >= 0, "{}: tensor adam.steps is {}, expected a count of steps", file, steps_);
}

}  // namespace lact::train
