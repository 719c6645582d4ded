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

AdamW::AdamW(const torch::nn::Module& model, const AdamWOptions& options, const RateFactor& rate_factor,
             parallel::Group ranks, const LentParameters* lent)
    : options_(options), ranks_(std::move(ranks)) {
  for (const auto& item : model.named_parameters()) {
    if (!item.value().requires_grad()) continue;
    slots_.push_back({item.key(), item.value(), {}, {}, rate_factor ? rate_factor(item.key()) : 1});
  }
  share_out(lent);
  for (auto& slot : slots_) {
    if (!owns(slot)) continue;
    slot.mean = at::zeros_like(slot.parameter).detach();
    slot.square = slot.mean.clone();
  }
}

/// The largest parameters first, each to the rank that has least.
void AdamW::share_out(const LentParameters* lent) {
  std::vector<int64_t> load(size_t(ranks_.size()), 0);
  std::vector<Slot*> by_size;
  for (auto& slot : slots_) {
    const auto owner = lent != nullptr ? lent->owner(slot.parameter) : std::nullopt;
    if (owner) {
      slot.lent = true, slot.owner = *owner;
      load[size_t(*owner)] += slot.parameter.numel();
    } else {
      by_size.push_back(&slot);
    }
  }
  std::stable_sort(by_size.begin(), by_size.end(),
                   [](const Slot* a, const Slot* b) { return a->parameter.numel() > b->parameter.numel(); });
  for (Slot* slot : by_size) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += slot->parameter.numel();
    slot->owner = least - load.begin();
  }
}

void AdamW::tell_parameters() const {
  for (const auto& slot : slots_) {
    if (!slot.lent && slot.parameter.grad().defined())
      ranks_.broadcast(slot.parameter, slot.owner, "sharing out new weights");
  }
}

void AdamW::zero_gradients() {
  for (auto& slot : slots_) slot.parameter.mutable_grad() = at::Tensor();
  gradient_factor_ = 1;
}

double AdamW::gradient_norm() const {
  double squares = sum_of_squares(/*lent=*/false);
  if (std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.lent; })) {
    const at::Tensor of_owners = at::full({1}, sum_of_squares(/*lent=*/true), at::kDouble);
    ranks_.sum(of_owners, "adding up the gradients' norm");
    squares += of_owners.item<double>();
  }
  return std::sqrt(squares) * std::abs(gradient_factor_);
}

double AdamW::sum_of_squares(bool lent) const {
  double squares = 0;
  std::vector<const float*> gradients;
  Blocks blocks;
  for (const auto& slot : slots_) {
    const at::Tensor& gradient = slot.parameter.grad();
    if (!gradient.defined() || slot.lent != lent) continue;
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
  return std::accumulate(sums.begin(), sums.end(), squares);
}

void AdamW::scale_gradients(double factor) { gradient_factor_ *= factor; }

void AdamW::step(double step_rate) {
  at::NoGradGuard no_grad;
  ++steps_;
  const double mean_share = 1 - std::pow(options_.beta1, double(steps_));
  const double square_share = 1 - std::pow(options_.beta2, double(steps_));
  Blocks blocks;
  for (size_t i = 0; i < slots_.size(); ++i) {
    auto& [name, parameter, mean, square, rate_factor, owner, lent] = slots_[i];
    const at::Tensor& gradient = parameter.grad();
    if (!gradient.defined() || !owns(slots_[i])) continue;
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
  tell_parameters();
}

void AdamW::save(RemoteTensors& tensors) const {
  for (const auto& slot : slots_) {
    // What other ranks hold has the shape of the parameter.
    tensors.add("adam.mean." + slot.name, owns(slot) ? slot.mean : slot.parameter, slot.owner);
    tensors.add("adam.square." + slot.name, owns(slot) ? slot.square : slot.parameter, slot.owner);
  }
  tensors.add("adam.steps", at::full({1}, steps_, at::kLong));
}

void AdamW::load(const std::map<std::string, at::Tensor>& tensors, const std::string& file) {
  at::NoGradGuard no_grad;
  for (auto& slot : slots_) {
    if (!owns(slot)) continue;
    restore(slot.mean, tensors, "adam.mean." + slot.name, file);
    restore(slot.square, tensors, "adam.square." + slot.name, file);
  }
  at::Tensor steps = at::zeros({1}, at::kLong);
  restore(steps, tensors, "adam.steps", file);
  steps_ = steps.item<int64_t>();
  LACT_CHECK(steps_ >= 0, "{}: tensor adam.steps is {}, expected a count of steps", file, steps_);
}

}  // namespace lact::train
