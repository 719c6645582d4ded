#include <ATen/ATen.h>

#include "lact/ttt/fast_weight.h"
#include "support/gradients.h"
#include "support/instruction_sets.h"

namespace lact::ttt {
namespace {

using lact::testing::difference;

TEST(FewTokenSwiglu, EqualsTheReference) {
  at::NoGradGuard no_grad;
  lact::testing::for_each_isa_and_pairs([](const std::string& name) {
    for (const auto& [hidden, in, out] : {std::tuple{1, 1, 1}, {7, 63, 5}, {100, 48, 70}, {192, 192, 192}}) {
      for (const int64_t tokens : {1, 2, 5}) {
        const SwigluMatrices weights = {.gate = at::randn({2, 3, hidden, in}),
                                        .down = at::randn({2, 3, out, hidden}),
                                        .up = at::randn({2, 3, hidden, in})};
        const at::Tensor x = at::randn({2, tokens, 3, in}).transpose(1, 2);
        ASSERT_TRUE(is_few_token_swiglu(weights, x));
        const SwigluMatrices exact = {.gate = weights.gate.to(at::kDouble),
                                      .down = weights.down.to(at::kDouble),
                                      .up = weights.up.to(at::kDouble)};
        const at::Tensor expected = reference::swiglu_apply(exact, x.to(at::kDouble));
        EXPECT_LT(difference(few_token_swiglu(weights, x), expected), 1e-5) << name;
        const at::Tensor half = x.to(at::kBFloat16);
        EXPECT_LT(
            difference(few_token_swiglu(weights, half), reference::swiglu_apply(exact, half.to(at::kDouble))),
            0.005)
            << name;
      }
    }
  });
}

TEST(FewTokenSwiglu, LeavesEverythingElseToTheReference) {
  const auto weights = [](at::ScalarType type) {
    return SwigluMatrices{at::randn({1, 4, 4}, type), at::randn({1, 4, 4}, type), at::randn({1, 4, 4}, type)};
  };
  const at::Tensor x = at::randn({1, 2, 4});
  EXPECT_FALSE(is_few_token_swiglu(weights(at::kFloat), x));  // training
  at::NoGradGuard no_grad;
  EXPECT_TRUE(is_few_token_swiglu(weights(at::kFloat), x));
  EXPECT_FALSE(is_few_token_swiglu(weights(at::kDouble), x.to(at::kDouble)));
  EXPECT_FALSE(is_few_token_swiglu(weights(at::kFloat), at::randn({1, 100, 4})));
}

}  // namespace
}  // namespace lact::ttt
