// Which output token depends on which input token, measured by changing one input token at a time.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace lact::testing {

/// bool [T_out, T_in]: entry (i, j) is true if replacing token j of x (along `dim`) changes token i of
/// function(x).
inline at::Tensor measured_dependence(const std::function<at::Tensor(const at::Tensor&)>& function,
                                      const at::Tensor& x, int64_t dim) {
  at::NoGradGuard no_grad;
  const at::Tensor base = function(x);
  at::Tensor mask = at::zeros({base.size(dim), x.size(dim)}, at::kBool);
  for (int64_t j = 0; j < x.size(dim); ++j) {
    at::Tensor changed = x.clone();
    changed.select(dim, j).add_(at::randn_like(changed.select(dim, j)));
    const at::Tensor moved = (function(changed) - base).abs().transpose(0, dim).flatten(1).amax(1);
    mask.select(1, j).copy_(moved > 1e-12);
  }
  return mask;
}

inline void expect_same_mask(const at::Tensor& measured, const at::Tensor& predicted,
                             const std::string& what) {
  ASSERT_EQ(measured.sizes(), predicted.sizes()) << what;
  EXPECT_TRUE(measured.equal(predicted)) << what << "\nmeasured\n"
                                         << measured.to(at::kInt) << "\npredicted\n"
                                         << predicted.to(at::kInt);
}

}  // namespace lact::testing
