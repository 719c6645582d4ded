#include <ATen/ATen.h>

#include "lact/nn/feed_forward.h"
#include "lact/nn/init.h"
#include "lact/nn/linear.h"
#include "lact/nn/norm.h"
#include "support/errors.h"
#include "support/gradients.h"

namespace lact::nn {
namespace {

using lact::testing::difference;
using lact::testing::expect_gradients;
using lact::testing::randn;

TEST(Nn, LinearMultipliesAndAdds) {
  Linear layer(3, 2, true);
  at::NoGradGuard no_grad;
  layer.weight.copy_(at::arange(6).view({2, 3}));
  layer.bias.copy_(at::tensor({10.0, 20.0}));
  EXPECT_TRUE(layer.forward(at::ones({1, 3})).equal(at::tensor({13.0, 32.0}).view({1, 2})));
  EXPECT_EQ(layer.forward(at::ones({1, 3}, at::kBFloat16)).scalar_type(), at::kBFloat16);
}

TEST(Nn, NormsMatchTheirDefinitions) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({4, 6});
  EXPECT_LT(difference(Norm(6, {NormKind::layer, 1e-5}).forward(x), at::layer_norm(x, {6}, {}, {}, 1e-5)),
            1e-6);
  EXPECT_LT(
      difference(Norm(6, {NormKind::rms, 1e-5}).forward(x), x / (x.square().mean(-1, true) + 1e-5).sqrt()),
      1e-6);
  EXPECT_EQ(Norm(6, {NormKind::layer, 1e-5, true}).parameters().size(), 2u);
}

TEST(Nn, FeedForwardKinds) {
  at::manual_seed(2);
  const at::Tensor x = randn({3, 4});
  for (const auto kind : {FeedForwardKind::swiglu, FeedForwardKind::gelu, FeedForwardKind::gelu_tanh}) {
    FeedForward layer(4, {kind, 5, true});
    init_linears(layer, 0.5);
    layer.to(at::kDouble);
    const auto p = layer.named_parameters();
    const auto linear = [&](const std::string& name, const at::Tensor& in) {
      return at::linear(in, p[name + ".weight"], p[name + ".bias"]);
    };
    at::Tensor expected;
    if (kind == FeedForwardKind::swiglu) expected = at::silu(linear("gate", x)) * linear("up", x);
    if (kind == FeedForwardKind::gelu) expected = at::gelu(linear("up", x), "none");
    if (kind == FeedForwardKind::gelu_tanh) expected = at::gelu(linear("up", x), "tanh");
    EXPECT_LT(difference(layer.forward(x), linear("down", expected)), 1e-12);
    expect_gradients([&](const auto& in) { return layer.forward(in[0]); }, {x});
  }
}

TEST(Nn, InitialisationRules) {
  at::manual_seed(3);
  Linear layer(300, 200, true);
  EXPECT_NEAR(layer.weight.std().item<double>(), kLinearStd, 0.001);
  init_linears(layer, 0.5);
  EXPECT_NEAR(layer.weight.std().item<double>(), 0.5, 0.01);
  init_zero(layer);
  EXPECT_EQ(layer.weight.abs().max().item<float>(), 0);
  at::Tensor weight = at::empty({4, 100, 400});
  init_fan_in(weight, 2.0);
  EXPECT_NEAR(weight.std().item<double>(), 0.1, 0.002);
}

TEST(Nn, NormsAddTheEpsilonThatTheyAreGiven) {
  const at::Tensor x = randn({4, 6}).to(at::kFloat);
  EXPECT_LT(
      difference(Norm(6, {NormKind::rms, 0.5}).forward(x), x / (x.square().mean(-1, true) + 0.5).sqrt()),
      1e-6);
  EXPECT_LT(difference(Norm(6, {NormKind::layer, 0.5}).forward(x), at::layer_norm(x, {6}, {}, {}, 0.5)),
            1e-6);
}

TEST(Nn, InitialisationBeginsWithBiasesOfZero) {
  FeedForward layer(4, {FeedForwardKind::gelu, 5, true});
  at::NoGradGuard no_grad;
  for (auto& parameter : layer.parameters()) parameter.fill_(3);
  init_linears(layer, 0.5);
  for (const auto& item : layer.named_parameters()) {
    const double largest = item.value().abs().max().item<double>();
    EXPECT_TRUE(item.key().ends_with("bias") ? largest == 0 : largest != 3) << item.key();
  }
}

TEST(Nn, SomeRowsOfALayerAreThoseOfTheWhole) {
  Linear layer(128, 12, true);
  at::NoGradGuard no_grad;
  layer.bias.normal_();
  const at::Tensor x = randn({3, 128}).to(at::kFloat);
  const auto expect_rows = [&] {
    const at::Tensor whole = layer.forward(x);
    EXPECT_LT(difference(layer.forward_rows(x, 4, 6), whole.narrow(1, 4, 6)), 1e-5);
  };
  expect_rows();
  layer.compress(ops::WeightFormat::bf16);
  expect_rows();
}

TEST(Nn, MistakesGetASentence) {
  EXPECT_SENTENCE(Linear(0, 3, false), "from 0 to 3 channels");
  EXPECT_SENTENCE(Linear(3, 2, false).forward(at::ones({1, 4})), "the input is 4 wide, expected 3");
  EXPECT_SENTENCE(Norm(3, {NormKind::rms, 1e-5, true}), "an RMS-norm has no bias");
}

}  // namespace
}  // namespace lact::nn
