#include "lact/train/optimizer.h"

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

struct MomentShares {
  double mean, square;
};
/// Of the means that the first `steps` gradients are; the rest is the zero they began with.
MomentShares shares_of_moments(const AdamWOptions& options, int64_t steps) {
  return {1 - std::pow(options.beta1, double(steps)), 1 - std::pow(options.beta2, double(steps))};
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

Optimizer::Optimizer(const torch::nn::Module& model, const OptimizerOptions& options,
                     const RateFactor& rate_factor, parallel::Group ranks, const LentParameters* lent)
    : options_(options), ranks_(std::move(ranks)) {
  for (const auto& item : model.named_parameters()) {
    const auto& [name, parameter] = item.pair();
    if (!parameter.requires_grad()) continue;
    const bool muon = options.rule == Rule::muon && is_for_muon(name, parameter);
    slots_.push_back({name, parameter, rate_factor ? rate_factor(name) : 1, muon ? Rule::muon : Rule::adamw});
  }
  share_out(lent);
  for (auto& slot : slots_) {
    if (!owns(slot)) continue;
    slot.mean = at::zeros_like(slot.parameter).detach();
    if (slot.rule == Rule::adamw) slot.square = slot.mean.clone();
  }
}

/// The largest parameters first, each to the rank that has least.
void Optimizer::share_out(const LentParameters* lent) {
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

void Optimizer::tell_parameters() const {
  for (const auto& slot : slots_) {
    if (!slot.lent && slot.parameter.grad().defined())
      ranks_.broadcast(slot.parameter, slot.owner, "sharing out new weights");
  }
}

void Optimizer::zero_gradients() {
  for (auto& slot : slots_) slot.parameter.mutable_grad() = at::Tensor();
  gradient_factor_ = 1;
}

double Optimizer::gradient_norm() const {
  double squares = sum_of_squares(/*lent=*/false);
  if (std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.lent; })) {
    const at::Tensor of_owners = at::full({1}, sum_of_squares(/*lent=*/true), at::kDouble);
    ranks_.sum(of_owners, "adding up the gradients' norm");
    squares += of_owners.item<double>();
  }
  return std::sqrt(squares) * std::abs(gradient_factor_);
}

double Optimizer::sum_of_squares(bool lent) const {
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

void Optimizer::scale_gradients(double factor) { gradient_factor_ *= factor; }

at::Tensor Optimizer::scaled_gradient(const Slot& slot) const {
  const at::Tensor& gradient = slot.parameter.grad();
  return gradient_factor_ == 1 ? gradient : gradient * gradient_factor_;
}

void Optimizer::step(double step_rate) {
  at::NoGradGuard no_grad;
  ++steps_;
  std::vector<Slot*> in_one_pass;
  for (auto& slot : slots_) {
    const at::Tensor& gradient = slot.parameter.grad();
    if (!gradient.defined() || !owns(slot)) continue;
    const double rate = step_rate * slot.rate_factor;
    if (slot.rule == Rule::muon) {
      muon_step_of(slot, rate);
    } else if (ops::fused_paths() && is_plain(slot.parameter) && is_plain(gradient) && is_plain(slot.mean) &&
               is_plain(slot.square)) {
      in_one_pass.push_back(&slot);
    } else {
      plain_adamw_step(slot, rate);
    }
  }
  adamw_steps(in_one_pass, step_rate);
  gradient_factor_ = 1;
  tell_parameters();
}

void Optimizer::muon_step_of(Slot& slot, double rate) const {
  slot.parameter.mul_(1 - rate * options_.adamw.weight_decay);
  muon_step(slot.parameter, slot.mean, scaled_gradient(slot), rate, options_.muon);
}

void Optimizer::plain_adamw_step(Slot& slot, double rate) const {
  const AdamWOptions& options = options_.adamw;
  const auto [mean_share, square_share] = shares_of_moments(options, steps_);
  const at::Tensor gradient = scaled_gradient(slot);
  slot.mean.lerp_(gradient, 1 - options.beta1);
  slot.square.mul_(options.beta2).addcmul_(gradient, gradient, 1 - options.beta2);
  if (is_decayed(slot.parameter)) slot.parameter.mul_(1 - rate * options.weight_decay);
  const at::Tensor size = (slot.square / square_share).sqrt_().add_(options.epsilon);
  slot.parameter.addcdiv_(slot.mean, size, -rate / mean_share);
}

void Optimizer::adamw_steps(const std::vector<Slot*>& slots, double step_rate) const {
  const AdamWOptions& options = options_.adamw;
  const auto [mean_share, square_share] = shares_of_moments(options, steps_);
  Blocks blocks;
  std::vector<kernels::AdamWStep> steps;
  for (size_t i = 0; i < slots.size(); ++i) {
    const Slot& slot = *slots[i];
    blocks.add(i, slot.parameter.numel());
    for (const auto& changed : {slot.parameter, slot.mean, slot.square})
      changed.unsafeGetTensorImpl()->bump_version();
    const double rate = step_rate * slot.rate_factor;
    steps.push_back({float(gradient_factor_), float(1 - options.beta1), float(options.beta2),
                     float(1 - options.beta2), float(1 / square_share),
                     is_decayed(slot.parameter) ? float(1 - rate * options.weight_decay) : 1,
                     float(rate / mean_share), float(options.epsilon)});
  }
  const auto run = kernels::adamw_kernels().step;
  blocks.for_each([&](const Blocks::Block& block, size_t) {
    const Slot& slot = *slots[block.tensor];
    const auto from = [&](const at::Tensor& x) { return x.data_ptr<float>() + block.first; };
    run(steps[block.tensor], from(slot.parameter), from(slot.parameter.grad()), from(slot.mean),
        from(slot.square), block.count);
  });
}

std::string Optimizer::mean_name(const Slot& slot) {
  return (slot.rule == Rule::muon ? "muon.momentum." : "adam.mean.") + slot.name;
}

std::string Optimizer::square_name(const Slot& slot) { return "adam.square." + slot.name; }

void Optimizer::save(RemoteTensors& tensors) const {
  for (const auto& slot : slots_) {
    // What other ranks hold has the shape of the parameter.
    tensors.add(mean_name(slot), owns(slot) ? slot.mean : slot.parameter, slot.owner);
    if (slot.rule == Rule::muon) continue;
    tensors.add(square_name(slot), owns(slot) ? slot.square : slot.parameter, slot.owner);
  }
  tensors.add("adam.steps", at::full({1}, steps_, at::kLong));
}

void Optimizer::load(const std::map<std::string, at::Tensor>& tensors, const std::string& file) {
  at::NoGradGuard no_grad;
  for (auto& slot : slots_) {
    if (!owns(slot)) continue;
    restore(slot.mean, tensors, mean_name(slot), file);
    if (slot.rule == Rule::adamw) restore(slot.square, tensors, square_name(slot), file);
  }
  at::Tensor steps = at::zeros({1}, at::kLong);
  restore(steps, tensors, "adam.steps", file);
  steps_ = steps.item<int64_t>();
  LACT_CHECK(steps_ >= 0, "{}: tensor adam.steps is {}, expected a count of steps", file, steps_);
}

}  // namespace lact::train
