#include "lact/ops/dispatch/paths.h"
#include "lact/ops/losses/token_loss.h"
#include "support/errors.h"
#include "support/like_reference.h"

namespace lact::ops {
namespace {

using lact::testing::difference;
using lact::testing::expect_gradients;
using lact::testing::expect_like_reference;
using lact::testing::for_each_isa;
using lact::testing::randn;

at::Tensor draw_targets(int64_t tokens, int64_t vocabulary) {
  return at::randint(vocabulary, {tokens}, at::kLong);
}

TEST(TokenLossFused, EqualsTheReferenceAtEverySize) {
  at::manual_seed(1);
  for_each_isa([](const std::string&) {
    for (const int64_t tokens : {1, 7, 63}) {
      for (const int64_t vocabulary : {1, 5, 63, 1000, 2100}) {
        SCOPED_TRACE(std::to_string(tokens) + " " + std::to_string(vocabulary));
        const at::Tensor targets = draw_targets(tokens, vocabulary);
        expect_like_reference([&](const auto& x) { return token_losses(x[0], x[1], targets); },
                              [&](const auto& x) { return reference::token_losses(x[0], x[1], targets); },
                              {at::randn({tokens, 20}), at::randn({vocabulary, 20}) * 0.3}, 3e-6);
      }
    }
  });
}

TEST(TokenLossFused, SeveralStretchesMakeTheSameGradients) {
  at::manual_seed(2);
  const int64_t vocabulary = 1 << 20, tokens = 17;  // 16 tokens at a time
  const at::Tensor targets = draw_targets(tokens, vocabulary);
  expect_like_reference([&](const auto& x) { return token_losses(x[0], x[1], targets); },
                        [&](const auto& x) { return reference::token_losses(x[0], x[1], targets); },
                        {at::randn({tokens, 4}), at::randn({vocabulary, 4})}, 1e-5);
}

TEST(TokenLossFused, EqualUpstreamGradientsAreScaledAndASecondBackwardPassIsRight) {
  at::manual_seed(6);
  const at::Tensor targets = draw_targets(30, 70);
  expect_like_reference([&](const auto& x) { return token_losses(x[0], x[1], targets).mean(); },
                        [&](const auto& x) { return reference::token_losses(x[0], x[1], targets).mean(); },
                        {at::randn({30, 20}), at::randn({70, 20}) * 0.3}, 3e-6);

  const at::Tensor hidden = at::randn({30, 20}).requires_grad_(true);
  const at::Tensor weight = at::randn({70, 20}).requires_grad_(true);
  const at::Tensor loss = token_losses(hidden, weight, targets).mean();
  loss.backward({}, /*retain_graph=*/true);
  const at::Tensor once = hidden.grad().clone(), once_weight = weight.grad().clone();
  loss.backward();
  EXPECT_LT(difference(hidden.grad(), 2 * once), 1e-6);
  EXPECT_LT(difference(weight.grad(), 2 * once_weight), 1e-6);
}

TEST(TokenLossFused, Float64TakesTheSameRoad) {
  at::manual_seed(3);
  const at::Tensor targets = draw_targets(9, 30);
  const at::Tensor hidden = randn({9, 6}), weight = randn({30, 6});
  EXPECT_LT(
      difference(token_losses(hidden, weight, targets), reference::token_losses(hidden, weight, targets)),
      1e-14);
  expect_gradients([&](const auto& x) { return token_losses(x[0], x[1], targets); }, {hidden, weight});
}

TEST(TokenLossFused, Bfloat16StatesAndFloat32Weights) {
  at::manual_seed(4);
  for_each_isa([](const std::string&) {
    for (const bool pairs : {false, true}) {
      kernels::set_multiplies_pairs(pairs);
      const at::Tensor targets = draw_targets(63, 500);
      // Logits of bfloat16 products are themselves rounded to 8 bits.
      expect_like_reference([&](const auto& x) { return token_losses(x[0], x[1], targets); },
                            [&](const auto& x) { return reference::token_losses(x[0], x[1], targets); },
                            {at::randn({63, 40}).to(at::kBFloat16), at::randn({500, 40}) * 0.3},
                            pairs ? 3e-2 : 1e-2);
      kernels::set_multiplies_pairs(false);
    }
  });
}

TEST(TokenLossFused, ExtremeLogits) {
  at::manual_seed(5);
  for_each_isa([](const std::string&) {
    // One sure and right, one sure and wrong, one of equal logits.
    at::Tensor hidden = at::eye(3);
    at::Tensor weight = at::zeros({1500, 3});
    weight[1400][0] = 1e4;
    weight[3][1] = 1e30;
    const at::Tensor targets = at::tensor({1400, 4, 0}, at::kLong);
    const auto fused = [&](const auto& x) { return token_losses(x[0], x[1], targets); };
    expect_like_reference(
        fused, [&](const auto& x) { return reference::token_losses(x[0], x[1], targets); }, {hidden, weight},
        1e-5);
    const at::Tensor losses = fused(std::vector<at::Tensor>{hidden, weight});
    EXPECT_EQ(losses[0].item<float>(), 0);
    EXPECT_NEAR(losses[2].item<float>(), std::log(1500.f), 1e-5);
  });
}

TEST(TokenLossFused, ALogitThatIsNotANumberIsSeen) {
  for_each_isa([](const std::string&) {
    at::Tensor weight = at::randn({1500, 8});
    weight[1100].fill_(std::nan(""));
    const at::Tensor losses = token_losses(at::randn({5, 8}), weight, at::zeros({5}, at::kLong));
    EXPECT_TRUE(losses.isnan().all().item<bool>());
  });
}

// The last logits of a row fill no whole vector.
TEST(TokenLossFused, TheLastLogitIsSeenToBeNotANumber) {
  for_each_isa([](const std::string&) {
    for (const int64_t vocabulary : {7, 1501}) {
      at::Tensor weight = at::randn({vocabulary, 8});
      weight[vocabulary - 1].fill_(std::nan(""));
      const at::Tensor losses = token_losses(at::randn({5, 8}), weight, at::zeros({5}, at::kLong));
      EXPECT_TRUE(losses.isnan().all().item<bool>()) << vocabulary;
    }
  });
}

TEST(TokenLossFused, OnlySomeInputsNeedGradients) {
  const at::Tensor hidden = at::randn({6, 8}).requires_grad_(true), weight = at::randn({20, 8});
  const at::Tensor targets = draw_targets(6, 20);
  token_losses(hidden, weight, targets).mean().backward();
  EXPECT_TRUE(hidden.grad().defined());
  EXPECT_FALSE(weight.grad().defined());
  EXPECT_FALSE(token_losses(hidden.detach(), weight, targets).requires_grad());
  // Views: a tail of the tokens, a matrix that is turned over.
  const at::Tensor turned = at::randn({8, 20}).t();
  EXPECT_LT(difference(token_losses(hidden.detach().slice(0, 1), turned, targets.slice(0, 1)),
                       reference::token_losses(hidden.detach().slice(0, 1), turned, targets.slice(0, 1))),
            1e-5);
}

TEST(TokenLossFused, WrongTargetsAndShapesAreASentence) {
  const at::Tensor hidden = at::randn({2, 3}), weight = at::randn({5, 3});
  EXPECT_SENTENCE(token_losses(hidden, weight, at::full({2}, 5, at::kLong)), "targets run from 5 to 5");
  EXPECT_SENTENCE(token_losses(hidden, weight, at::zeros({3}, at::kLong)), "targets [3]");
  EXPECT_SENTENCE(token_losses(hidden, weight, at::zeros({2})), "expected int64");
}

}  // namespace
}  // namespace lact::ops
