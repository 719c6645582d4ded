#include "lact/train/adamw.h"

#include <torch/nn/module.h>

#include <cmath>
#include <numeric>

#include "lact/kernels/adamw.h"
#include "lact/ops/paths.h"
#include "lact/ops/work_items.h"
#include "lact/train/checkpoint.h"

namespace lact::train {

namespace {

/// What the kernels read: float32, one piece of a processor's memory.
bool is_plain(const at::Tensor& x) {
  return x.is_cpu() && x.layout() == at::kStrided && x.scalar_type() == at::kFloat && x.is_contiguous();
}

constexpr int64_t kBlock = 1 << 15;
int64_t num_blocks(int64_t elements) { return (elements + kBlock - 1) / kBlock; }

/// body(block, first element, count): the same blocks for any number of threads.
template <class Body>
void for_each_block(int64_t elements, const Body& body) {
  ops::for_each_item(num_blocks(elements), [&](int64_t block, int64_t) {
    body(block, block * kBlock, std::min(kBlock, elements - block * kBlock));
  });
}

double squares_of(const at::Tensor& gradient) {
  if (!ops::fused_paths() || !is_plain(gradient)) {
    const double norm = gradient.norm().item<double>();
    return norm * norm;
  }
  const auto run = kernels::adamw_kernels().sum_of_squares;
  const auto* from = gradient.data_ptr<float>();
  std::vector<double> sums(static_cast<size_t>(num_blocks(gradient.numel())));
  for_each_block(gradient.numel(), [&](int64_t block, int64_t first, int64_t count) {
    sums[size_t(block)] = run(from + first, count);
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

void fused_step(const kernels::AdamWStep& step, const at::Tensor& parameter, const at::Tensor& gradient,
                const at::Tensor& mean, const at::Tensor& square) {
  const auto run = kernels::adamw_kernels().step;
  auto* to = parameter.data_ptr<float>();
  const auto* from = gradient.data_ptr<float>();
  auto *means = mean.data_ptr<float>(), *squares = square.data_ptr<float>();
  for_each_block(parameter.numel(), [&](int64_t, int64_t first, int64_t count) {
    run(step, to + first, from + first, means + first, squares + first, count);
  });
  for (const auto& changed : {parameter, mean, square}) changed.unsafeGetTensorImpl()->bump_version();
}

}  // namespace

AdamW::AdamW(const torch::nn::Module& model, const AdamWOptions& options) : options_(options) {
  for (const auto& item : model.named_parameters()) {
    if (!item.value().requires_grad()) continue;
    const at::Tensor zeros = at::zeros_like(item.value()).detach();
    slots_.push_back({item.key(), item.value(), zeros, zeros.clone()});
  }
}

void AdamW::zero_gradients() {
  for (auto& slot : slots_) slot.parameter.mutable_grad() = at::Tensor();
  gradient_factor_ = 1;
}

double AdamW::gradient_norm() const {
  double squares = 0;
  for (const auto& slot : slots_) {
    const at::Tensor& gradient = slot.parameter.grad();
    if (gradient.defined()) squares += squares_of(gradient);
  }
  return std::sqrt(squares) * std::abs(gradient_factor_);
}

void AdamW::scale_gradients(double factor) { gradient_factor_ *= factor; }

void AdamW::step(double rate) {
  at::NoGradGuard no_grad;
  ++steps_;
  const double mean_share = 1 - std::pow(options_.beta1, double(steps_));
  const double square_share = 1 - std::pow(options_.beta2, double(steps_));
  for (auto& [name, parameter, mean, square] : slots_) {
    const at::Tensor& gradient = parameter.grad();
    if (!gradient.defined()) continue;
    const double keep = parameter.dim() > 1 ? 1 - rate * options_.weight_decay : 1;
    if (ops::fused_paths() && is_plain(parameter) && is_plain(gradient) && is_plain(mean) &&
        is_plain(square)) {
      fused_step({float(gradient_factor_), float(1 - options_.beta1), float(options_.beta2),
                  float(1 - options_.beta2), float(1 / square_share), float(keep), float(rate / mean_share),
                  float(options_.epsilon)},
                 parameter, gradient, mean, square);
      continue;
    }
    const at::Tensor scaled = gradient_factor_ == 1 ? gradient : gradient * gradient_factor_;
    mean.lerp_(scaled, 1 - options_.beta1);
    square.mul_(options_.beta2).addcmul_(scaled, scaled, 1 - options_.beta2);
    if (keep != 1) parameter.mul_(keep);
    const at::Tensor size = (square / square_share).sqrt_().add_(options_.epsilon);
    parameter.addcdiv_(mean, size, -rate / mean_share);
  }
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
}

}  // namespace lact::train
