#include "lact/nn/loan.h"

#include <ATen/ATen.h>

namespace lact::nn {

namespace {

thread_local std::shared_ptr<Lender> current;

}  // namespace

bool is_held(const at::Tensor& x) { return x.numel() == 0 || x.storage().nbytes() > 0; }

void let_go(at::Tensor x) {
  at::NoGradGuard no_grad;
  const at::Tensor hollow = at::empty({0}, x.options().requires_grad(false));
  hollow.unsafeGetTensorImpl()->set_sizes_and_strides(x.sizes(), x.strides());
  x.set_data(hollow);
}

void hold(at::Tensor x) {
  at::NoGradGuard no_grad;
  x.set_data(at::empty_strided(x.sizes(), x.strides(), x.options().requires_grad(false)));
}

LendingScope::LendingScope(std::shared_ptr<Lender> lender)
    : before_(std::exchange(current, std::move(lender))) {}
LendingScope::~LendingScope() { current = std::move(before_); }

std::shared_ptr<Lender> lender_in_scope() { return current; }

}  // namespace lact::nn
