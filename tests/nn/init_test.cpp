#include "lact/nn/init.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lact/nn/linear.h"

namespace lact::nn {
namespace {

TEST(SkipInit, LeavesValuesAndRandomNumbersAlone) {
  at::manual_seed(4);
  const at::Tensor next = at::randn({3});
  at::manual_seed(4);
  Linear layer(3, 2, true);
  at::NoGradGuard no_grad;
  layer.weight.fill_(7), layer.bias.fill_(7);
  at::manual_seed(4);
  {
    const SkipInit skip;
    { const SkipInit again; }
    init_linears(layer, 1);
    init_zero(layer);
    init_fan_in(layer.weight, 1);
    init_uniform(layer.weight, 1);
    make_uninitialised<Linear>(30, 20, true);
  }
  EXPECT_TRUE(layer.weight.eq(7).all().item<bool>());
  EXPECT_TRUE(layer.bias.eq(7).all().item<bool>());
  EXPECT_TRUE(at::randn({3}).equal(next));
  init_zero(layer);
  EXPECT_TRUE(layer.weight.eq(0).all().item<bool>());
}

}  // namespace
}  // namespace lact::nn
