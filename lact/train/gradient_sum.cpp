#include "lact/train/gradient_sum.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>

namespace lact::train {

/// Called each time that a parameter's gradient has been added to.
class GradientSum::Hook : public torch::autograd::FunctionPostHook {
 public:
  Hook(std::shared_ptr<GradientSum*> sum, size_t parameter) : sum_(std::move(sum)), parameter_(parameter) {}

  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    if (*sum_ != nullptr) (*sum_)->added(parameter_);
    return outputs;
  }

 private:
  std::shared_ptr<GradientSum*> sum_;
  size_t parameter_;
};

GradientSum::GradientSum(const torch::nn::Module& model, parallel::Group group, const LentParameters* lent,
                         int64_t bucket_bytes)
    : group_(std::move(group)), self_(std::make_shared<GradientSum*>(this)) {
  for (const auto& item : model.named_parameters()) {
    const bool is_lent = lent != nullptr && lent->owner(item.value());
    if (item.value().requires_grad() && !is_lent) watched_.push_back({item.value()});
  }
  // The last parameters of a model are the first whose gradients are done.
  std::reverse(watched_.begin(), watched_.end());
  int64_t bytes = bucket_bytes;
  for (size_t i = 0; i < watched_.size(); ++i) {
    Watched& watched = watched_[i];
    const bool same_type =
        !buckets_.empty() && watched_[buckets_.back().parameters.front()].parameter.scalar_type() ==
                                 watched.parameter.scalar_type();
    if (bytes >= bucket_bytes || !same_type) buckets_.emplace_back(), bytes = 0;
    buckets_.back().parameters.push_back(i);
    watched.bucket = buckets_.size() - 1;
    bytes += int64_t(watched.parameter.nbytes());
    if (!group_.alone()) {
      torch::autograd::impl::grad_accumulator(watched.parameter)
          ->add_post_hook(std::make_unique<Hook>(self_, i));
    }
  }
}

GradientSum::~GradientSum() { *self_ = nullptr; }

void GradientSum::begin() {
  for (auto& watched : watched_) watched.seen = 0;
  left_ = 0;
  watching_ = true;
}

void GradientSum::added(size_t parameter) {
  if (!watching_) return;
  Watched& watched = watched_[parameter];
  ++watched.seen;
  if (watched.bucket < left_) {
    buckets_[watched.bucket].stale = true;
    return;
  }
  const auto done = [&](const Bucket& bucket) {
    return std::all_of(bucket.parameters.begin(), bucket.parameters.end(), [&](size_t i) {
      return watched_[i].expected >= 0 && watched_[i].seen >= watched_[i].expected;
    });
  };
  while (left_ < buckets_.size() && done(buckets_[left_])) leave(buckets_[left_++]);
}

void GradientSum::leave(Bucket& bucket) {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  std::vector<double> present;
  for (const size_t i : bucket.parameters) {
    const at::Tensor& parameter = watched_[i].parameter;
    const at::Tensor& gradient = parameter.grad();
    present.push_back(gradient.defined() ? 1 : 0);
    parts.push_back(gradient.defined() ? gradient.reshape({-1})
                                       : at::zeros({parameter.numel()}, parameter.options()));
  }
  const auto options = watched_[bucket.parameters.front()].parameter.options().requires_grad(false);
  parts.push_back(at::tensor(present, at::kDouble).to(options));
  bucket.flat = at::cat(parts);
  bucket.stale = false;
  bucket.wait = group_.begin_sum(bucket.flat, "adding up gradients");
}

void GradientSum::arrive(Bucket& bucket) {
  at::NoGradGuard no_grad;
  int64_t next = 0;
  const auto count = int64_t(bucket.parameters.size());
  const at::Tensor present = bucket.flat.narrow(0, bucket.flat.numel() - count, count);
  for (size_t i = 0; i < bucket.parameters.size(); ++i) {
    at::Tensor& parameter = watched_[bucket.parameters[i]].parameter;
    const at::Tensor sum = bucket.flat.narrow(0, next, parameter.numel()).view(parameter.sizes());
    next += parameter.numel();
    if (present[int64_t(i)].item<double>() == 0) continue;
    at::Tensor& gradient = parameter.mutable_grad();
    if (gradient.defined()) {
      gradient.copy_(sum);
    } else {
      gradient = sum.clone();
    }
  }
  bucket.flat = at::Tensor();
}

void GradientSum::finish() {
  if (group_.alone()) return;
  watching_ = false;
  for (size_t i = left_; i < buckets_.size(); ++i) leave(buckets_[i]);
  const at::Tensor stale = at::zeros({int64_t(buckets_.size())});
  for (size_t i = 0; i < buckets_.size(); ++i) {
    buckets_[i].wait();
    stale[int64_t(i)] = buckets_[i].stale ? 1 : 0;
  }
  group_.sum(stale, "adding up gradients");
  for (size_t i = 0; i < buckets_.size(); ++i) {
    if (stale[int64_t(i)].item<float>() > 0) leave(buckets_[i]), buckets_[i].wait();
    arrive(buckets_[i]);
  }
  for (auto& watched : watched_) watched.expected = watched.seen;
}

}  // namespace lact::train
