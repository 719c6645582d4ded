#include "lact/nn/recompute.h"

#include <ATen/ATen.h>

#include "lact/nn/feed_forward.h"
#include "lact/nn/norm.h"
#include "support/errors.h"
#include "support/watched_memory.h"

namespace lact::nn {
namespace {

using lact::testing::WatchedMemory;

/// y and the gradients of inputs and parameters.
template <class Function>
std::vector<at::Tensor> value_and_gradients(const Function& function, std::vector<at::Tensor> leaves) {
  for (auto& leaf : leaves) leaf = leaf.detach().clone().requires_grad_(true);
  const at::Tensor y = function(leaves);
  at::manual_seed(2);
  y.backward(at::randn_like(y));
  std::vector<at::Tensor> all = {y.detach()};
  for (const auto& leaf : leaves) all.push_back(leaf.grad());
  return all;
}

void expect_same_bits(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(at::equal(found[i], wanted[i])) << "tensor " << i;
}

ActivationCheckpointing::Function times(const at::Tensor& factor) {
  return [factor](const std::vector<at::Tensor>& in) { return in[0] * factor; };
}

TEST(ActivationCheckpointing, ChangeNoBitOfValuesAndGradients) {
  at::manual_seed(1);
  const std::vector<at::Tensor> leaves = {at::randn({50, 40}), at::randn({50, 40}), at::randn({30, 40}),
                                          at::randn({40})};
  const auto run = [](bool on) {
    return [on](const std::vector<at::Tensor>& in) {
      ActivationCheckpointing checkpointing(on);
      const auto gated = [](const std::vector<at::Tensor>& x) { return at::silu(x[0]) * x[1]; };
      const at::Tensor hidden = checkpointing.run(gated, {in[0], in[1]});
      const at::Tensor scaled =
          checkpointing.run(times(in[3]), {in[0]});  // a parameter inside of the function
      const at::Tensor y = at::matmul(hidden + scaled, in[2].t()) + scaled.narrow(1, 0, 30);
      checkpointing.free_until_backward_of(y);
      return y;
    };
  };
  expect_same_bits(value_and_gradients(run(true), leaves), value_and_gradients(run(false), leaves));
}

TEST(ActivationCheckpointing, OnesInsideOfOthersAreFilledFromOutsideToInside) {
  at::manual_seed(3);
  const auto run = [](bool on) {
    return [on](const std::vector<at::Tensor>& in) {
      ActivationCheckpointing outer(on), inner(on);
      const auto silu = [](const std::vector<at::Tensor>& x) { return at::silu(x[0]); };
      const at::Tensor first = outer.run(silu, {in[0]});
      const at::Tensor second = inner.run(silu, {first});
      const at::Tensor middle = at::matmul(second, in[1]);
      inner.free_until_backward_of(middle);
      const at::Tensor y = at::matmul(middle * first, in[1]);
      outer.free_until_backward_of(y);
      return y;
    };
  };
  const std::vector<at::Tensor> leaves = {at::randn({8, 8}), at::randn({8, 8})};
  expect_same_bits(value_and_gradients(run(true), leaves), value_and_gradients(run(false), leaves));
}

TEST(ActivationCheckpointing, FreeTheirValuesUntilTheyAreNeeded) {
  constexpr int64_t kBytes = 1000 * 64 * sizeof(float);
  const at::Tensor x = at::randn({1000, 64}).requires_grad_(true),
                   weight = at::randn({64, 1}).requires_grad_(true);
  const WatchedMemory memory;
  ActivationCheckpointing checkpointing(true);
  at::Tensor hidden = checkpointing.run(times(at::ones({64})), {x});
  at::Tensor y = at::matmul(hidden, weight).sum();
  EXPECT_GE(memory.live_bytes(), kBytes);
  checkpointing.free_until_backward_of(y);
  EXPECT_LT(memory.live_bytes(), kBytes / 10);
  y.backward();
  // Only the gradients are left, although the graph lives.
  hidden = at::Tensor();
  EXPECT_LT(memory.live_bytes(), kBytes + kBytes / 10);
  EXPECT_TRUE(at::allclose(x.grad(), weight.detach().t().expand({1000, 64})));
}

TEST(ActivationCheckpointing, AreOrdinaryCallsWithoutGradients) {
  at::NoGradGuard no_grad;
  ActivationCheckpointing checkpointing(true);
  const at::Tensor x = at::randn({4, 4}), y = checkpointing.run(times(at::ones({4})), {x});
  checkpointing.free_until_backward_of(y);
  EXPECT_TRUE(at::equal(y, x));
}

TEST(ActivationCheckpointing, KeepGradientsOfParametersWhenTheInputHasNone) {
  const at::Tensor factor = at::full({4}, 2.).requires_grad_(true), x = at::ones({3, 4});
  ActivationCheckpointing checkpointing(true);
  const at::Tensor hidden = checkpointing.run(times(factor), {x}), y = hidden.square().sum();
  checkpointing.free_until_backward_of(y);
  y.backward();
  EXPECT_TRUE(at::equal(factor.grad(), at::full({4}, 12.)));
}

TEST(ActivationCheckpointing, ASecondBackwardPassIsRefused) {
  const at::Tensor x = at::randn({4, 4}).requires_grad_(true);
  ActivationCheckpointing checkpointing(true);
  const at::Tensor y = checkpointing.run(times(at::ones({4})), {x}).square().sum();
  y.backward({}, /*retain_graph=*/true);
  EXPECT_SENTENCE(y.backward(), "can run only once");
}

TEST(Recompute, TheChoiceReachesModulesAtAnyDepth) {
  struct Part : torch::nn::Module, Recomputes {
    bool on() const { return checkpoint_activations_; }
  };
  struct Group : torch::nn::Module {};
  Group root;
  const auto group = root.register_module("group", std::make_shared<Group>());
  const auto above = group->register_module("above", std::make_shared<Part>());
  const auto below = above->register_module("below", std::make_shared<Part>());
  set_recompute_below(root, Recompute::cheap);
  EXPECT_TRUE(above->on());
  EXPECT_TRUE(below->on());
  set_recompute_below(root, Recompute::none);
  EXPECT_FALSE(above->on());
  EXPECT_FALSE(below->on());
}

TEST(FeedForward, KeepsNoHiddenActivationWhenItRecomputes) {
  for (const auto kind : {FeedForwardKind::swiglu, FeedForwardKind::gelu, FeedForwardKind::gelu_tanh}) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      at::manual_seed(4);
      const auto layer = std::make_shared<FeedForward>(32, FeedForwardOptions{kind, 128});
      const at::Tensor x = at::randn({100, 32}).to(type);
      int64_t kept = 0;
      const auto run = [&](bool on) {
        layer->set_recompute(on ? Recompute::cheap : Recompute::none);
        layer->zero_grad();
        const at::Tensor leaf = x.detach().requires_grad_(true);
        const WatchedMemory memory;
        const at::Tensor y = layer->forward(leaf);
        kept = memory.live_bytes();
        y.sum().backward();
        std::vector<at::Tensor> all = {y.detach(), leaf.grad()};
        for (const auto& parameter : layer->parameters()) all.push_back(parameter.grad().clone());
        return all;
      };
      const auto wanted = run(false);
      const int64_t most = kept, hidden = 100 * 128 * x.element_size();
      expect_same_bits(run(true), wanted);
      EXPECT_LE(kept, most - hidden);
    }
  }
}

}  // namespace
}  // namespace lact::nn
