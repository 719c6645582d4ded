#include "lact/train/lent_parameters.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace lact::train {

namespace {

constexpr const char* kLending = "lending a block's weights";
constexpr const char* kAddingUp = "adding up a block's gradients";

const void* key_of(const at::Tensor& parameter) { return parameter.unsafeGetTensorImpl(); }

}  // namespace

LentParameters::LentParameters(parallel::Group ranks)
    : ranks_(std::move(ranks)), kept_(size_t(ranks_.size()), 0) {}

/// In the order in which they are made, each to the rank that has least: a model that does not fit into one
/// process is never there as a whole.
void LentParameters::take(torch::nn::Module& block) {
  for (const auto& parameter : block.parameters()) {
    if (parameter.dim() < 2) continue;
    const auto least = std::min_element(kept_.begin(), kept_.end());
    *least += parameter.numel();
    const int64_t owner = owners_[key_of(parameter)] = least - kept_.begin();
    if (owner != ranks_.rank()) nn::let_go(parameter);
  }
}

std::optional<int64_t> LentParameters::owner(const at::Tensor& parameter) const {
  const auto found = owners_.find(key_of(parameter));
  return found == owners_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<at::Tensor> LentParameters::lent_in(const torch::nn::Module& block) const {
  std::vector<at::Tensor> lent = block.parameters();
  std::erase_if(lent, [&](const at::Tensor& parameter) { return !owner(parameter); });
  return lent;
}

void LentParameters::lend(const torch::nn::Module& block, nn::Pass pass) {
  for (const auto& parameter : lent_in(block)) {
    if (!nn::is_held(parameter)) nn::hold(parameter);
    ranks_.broadcast(parameter, *owner(parameter), kLending);
    if (pass == nn::Pass::backward && parameter.grad().defined())
      gradients_yet_[key_of(parameter)] = std::exchange(parameter.mutable_grad(), {});
  }
}

void LentParameters::take_back(const torch::nn::Module& block, nn::Pass pass) {
  const std::vector<at::Tensor> parameters = lent_in(block);
  if (pass == nn::Pass::backward) add_up(parameters);
  for (const auto& parameter : parameters) {
    if (*owner(parameter) != ranks_.rank()) nn::let_go(parameter);
  }
}

/// Gradients that no rank has stay undefined; one that some rank has counts as zero on the others.
void LentParameters::add_up(const std::vector<at::Tensor>& parameters) {
  at::NoGradGuard no_grad;
  if (parameters.empty()) return;
  const at::Tensor present = at::zeros({int64_t(parameters.size())});
  for (size_t i = 0; i < parameters.size(); ++i) present[int64_t(i)] = parameters[i].grad().defined() ? 1 : 0;
  ranks_.sum(present, kAddingUp);
  std::vector<std::pair<at::Tensor, parallel::Transport::Wait>> sums(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (present[int64_t(i)].item<float>() == 0) continue;
    at::Tensor own = std::exchange(parameters[i].mutable_grad(), {});
    own = own.defined() ? own.contiguous()
                        : at::zeros(parameters[i].sizes(), parameters[i].options().requires_grad(false));
    sums[i] = {own, ranks_.begin_sum(own, kAddingUp)};
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    auto& [sum, wait] = sums[i];
    if (wait) wait();
    if (*owner(parameters[i]) != ranks_.rank()) continue;
    const auto before = gradients_yet_.extract(key_of(parameters[i]));
    if (!before.empty()) sum = sum.defined() ? sum.add_(before.mapped()) : before.mapped();
    parameters[i].mutable_grad() = sum;
  }
}

}  // namespace lact::train
