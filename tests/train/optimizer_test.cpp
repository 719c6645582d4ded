#include "lact/train/optimizer.h"

#include <torch/nn/module.h>

#include "lact/ops/dispatch/paths.h"
#include "support/like_reference.h"

namespace lact::train {
namespace {

using lact::testing::difference;
using lact::testing::for_each_isa;

/// Tensors of every kind of size; vectors are not decayed.
struct Parameters : torch::nn::Module {
  explicit Parameters(at::ScalarType type) {
    at::manual_seed(1);
    for (const auto& sizes :
         std::vector<std::vector<int64_t>>{{1}, {7}, {100}, {3, 21}, {63, 700}, {2, 3, 5}}) {
      all.push_back(register_parameter("p" + std::to_string(all.size()), at::randn(sizes).to(type)));
    }
  }
  void draw_gradients(uint64_t seed, double scale) {
    at::manual_seed(seed);
    for (auto& parameter : all) {
      parameter.mutable_grad() = (at::randn(parameter.sizes()) * scale).to(parameter.scalar_type());
    }
  }
  std::vector<at::Tensor> all;
};

/// Three steps, the second one with clipped gradients.
std::vector<at::Tensor> run(at::ScalarType type, double scale) {
  Parameters model(type);
  Optimizer optimizer(model, {});
  for (int step = 0; step < 3; ++step) {
    model.draw_gradients(10 + step, scale);
    if (step == 1) optimizer.scale_gradients(0.25);
    optimizer.step(0.01);
  }
  std::vector<at::Tensor> results;
  for (const auto& parameter : model.all) results.push_back(parameter.detach().clone());
  RemoteTensors moments{{}};
  optimizer.save(moments);
  moments.write_on_first([&](const auto& tensors, const auto&) {
    for (const auto& [name, moment] : tensors) results.push_back(moment.clone());
  });
  return results;
}

TEST(AdamWTest, OnePassEqualsTheReferenceInFloat64) {
  for_each_isa([](const std::string&) {
    for (const double scale : {1e-12, 1e-3, 1.0, 1e12}) {
      SCOPED_TRACE(scale);
      const auto wanted = run(at::kDouble, scale), found = run(at::kFloat, scale),
                 again = run(at::kFloat, scale);
      for (size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_LT(difference(found[i], wanted[i]), 1e-6) << i;
        EXPECT_TRUE(found[i].equal(again[i])) << i;
      }
    }
  });
}

TEST(AdamWTest, TheReferencePathIsTheSameStep) {
  ops::set_fused_paths(false);
  const auto plain = run(at::kFloat, 1);
  ops::set_fused_paths(true);
  const auto fused = run(at::kFloat, 1);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_LT(difference(fused[i], plain[i]), 1e-6) << i;
}

TEST(AdamWTest, AParametersOwnRateIsAlsoThatOfItsDecay) {
  for (const bool fused : {false, true}) {
    Parameters model(at::kFloat);
    Optimizer optimizer(model, {.adamw = {.weight_decay = 0.5}},
                        [](const std::string& name) { return name == "p4" ? 0.1 : 1.0; });
    model.draw_gradients(5, 0);  // only the decay moves anything
    const at::Tensor before = model.all[4].detach().clone(), other = model.all[3].detach().clone();
    ops::set_fused_paths(fused);
    optimizer.step(0.2);
    ops::set_fused_paths(true);
    EXPECT_LT(difference(model.all[4].detach(), before * (1 - 0.2 * 0.1 * 0.5)), 1e-6) << fused;
    EXPECT_LT(difference(model.all[3].detach(), other * (1 - 0.2 * 0.5)), 1e-6) << fused;
  }
}

TEST(AdamWTest, TheNormIsAddedInFloat64) {
  for_each_isa([](const std::string&) {
    Parameters model(at::kFloat);
    const Optimizer optimizer(model, {});
    for (const double scale : {1e-25, 1.0, 1e25}) {  // squares beyond float32
      model.draw_gradients(5, scale);
      double squares = 0;
      for (const auto& parameter : model.all) {
        squares += parameter.grad().to(at::kDouble).square().sum().item<double>();
      }
      EXPECT_NEAR(optimizer.gradient_norm() / std::sqrt(squares), 1, 1e-12);
    }
  });
}

TEST(AdamWTest, ScalingLastsUntilTheStep) {
  Parameters model(at::kFloat);
  Optimizer optimizer(model, {});
  model.draw_gradients(5, 1);
  const double norm = optimizer.gradient_norm();
  optimizer.scale_gradients(0.5);
  EXPECT_NEAR(optimizer.gradient_norm() / norm, 0.5, 1e-12);
  optimizer.step(0.01);
  EXPECT_NEAR(optimizer.gradient_norm() / norm, 1, 1e-12);
  optimizer.scale_gradients(0.5);
  optimizer.zero_gradients();
  model.draw_gradients(5, 1);
  EXPECT_NEAR(optimizer.gradient_norm() / norm, 1, 1e-12);
}

TEST(AdamWTest, GradientsInAnyLayoutAndMissingOnes) {
  Parameters model(at::kFloat), other(at::kFloat);
  Optimizer optimizer(model, {}), plain(other, {});
  model.draw_gradients(5, 1);
  other.draw_gradients(5, 1);
  // The same numbers, column by column.
  auto& gradient = model.all[4].mutable_grad();
  gradient = gradient.t().contiguous().t();
  model.all[1].mutable_grad() = other.all[1].mutable_grad() = at::Tensor();
  const at::Tensor before = model.all[1].detach().clone();
  EXPECT_NEAR(optimizer.gradient_norm(), plain.gradient_norm(), 1e-4);
  optimizer.step(0.01);
  plain.step(0.01);
  EXPECT_TRUE(model.all[1].equal(before));
  for (size_t i = 0; i < model.all.size(); ++i) EXPECT_LT(difference(model.all[i], other.all[i]), 1e-6);
}

TEST(AdamWTest, AParameterMayHaveARateOfItsOwn) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    Parameters model(type), faster(type);
    Optimizer optimizer(model, {}, [](const std::string& name) { return name == "p3" ? 10.0 : 1.0; });
    Optimizer all_faster(faster, {});
    for (auto* one : {&model, &faster}) one->draw_gradients(5, 1);
    optimizer.step(0.01);
    all_faster.step(0.1);
    EXPECT_LT(difference(model.all[3], faster.all[3]), 1e-6);
    EXPECT_GT(difference(model.all[4], faster.all[4]), 1e-3);
  }
}

TEST(AdamWTest, AStepIsSeenByAutograd) {
  Parameters model(at::kFloat);
  Optimizer optimizer(model, {});
  model.draw_gradients(5, 1);
  const auto version = model.all[0]._version();
  optimizer.step(0.01);
  EXPECT_GT(model.all[0]._version(), version);
}

}  // namespace
}  // namespace lact::train
