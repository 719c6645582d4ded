#include "lact/train/muon.h"

#include <torch/nn/module.h>

#include "lact/train/optimizer.h"
#include "support/errors.h"
#include "support/like_reference.h"

namespace lact::train {
namespace {

using lact::testing::difference;

/// What the three models have: what embeds, a block with matrices, gates and vectors, what reads out.
struct SmallModel : torch::nn::Module {
  explicit SmallModel(at::ScalarType type = at::kFloat) {
    at::manual_seed(1);
    block = register_module("block0", std::make_shared<torch::nn::Module>());
    const auto make = [type](at::IntArrayRef sizes) { return at::randn(sizes).to(type); };
    embeddings = register_parameter("embeddings", make({40, 24}));
    wide = block->register_parameter("wide", make({24, 56}));
    fast = block->register_parameter("fast", make({3, 32, 16}));
    gate = block->register_parameter("gate", make({2, 24}));
    norm = block->register_parameter("norm", make({24}));
  }
  void draw_gradients(uint64_t seed, double scale = 1) {
    at::manual_seed(seed);
    for (auto& parameter : parameters())
      parameter.mutable_grad() = (at::randn(parameter.sizes()) * scale).to(parameter.scalar_type());
  }
  std::shared_ptr<torch::nn::Module> block;
  at::Tensor embeddings, wide, fast, gate, norm;
};

OptimizerOptions muon(double weight_decay = 0) {
  return {.rule = Rule::muon, .adamw = {.weight_decay = weight_decay}};
}

TEST(MuonTest, TakesTheMatricesOfBlocks) {
  const SmallModel model;
  std::vector<std::string> taken;
  for (const auto& item : model.named_parameters())
    if (is_for_muon(item.key(), item.value())) taken.push_back(item.key());
  EXPECT_EQ(taken, (std::vector<std::string>{"block0.wide", "block0.fast"}));
}

TEST(MuonTest, AStepIsOrthogonalAndOfOneSize) {
  for (const double scale : {1e-6, 1.0, 1e6}) {  // whatever the size of the gradient
    SmallModel model;
    const at::Tensor wide = model.wide.detach().clone(), fast = model.fast.detach().clone();
    Optimizer optimizer(model, muon());
    model.draw_gradients(3, scale);
    optimizer.step(0.01);
    for (const auto& [after, before] :
         {std::pair{model.wide.detach(), wide}, std::pair{model.fast.detach(), fast}}) {
      const at::Tensor moved = before - after;
      const double longer = double(std::max(moved.size(-1), moved.size(-2)));
      const at::Tensor singular = at::linalg_svdvals(moved) / (0.01 * 0.2 * std::sqrt(longer));
      EXPECT_GT(singular.min().item<double>(), 0.4) << scale;
      EXPECT_LT(singular.max().item<double>(), 1.4) << scale;
    }
  }
}

TEST(MuonTest, FollowsTheEquations) {
  SmallModel model(at::kDouble);
  Optimizer optimizer(model, muon(0.5));
  at::Tensor weight = model.wide.detach().clone(), mean = at::zeros_like(weight);
  for (int step = 0; step < 3; ++step) {
    model.draw_gradients(10 + step);
    const at::Tensor gradient = model.wide.grad() * 0.25;
    optimizer.scale_gradients(0.25);
    optimizer.step(0.01);
    mean = 0.95 * mean + 0.05 * gradient;
    at::Tensor x = 0.05 * gradient + 0.95 * mean;
    x = x / x.norm();
    for (int i = 0; i < 5; ++i) {
      const at::Tensor square = x.matmul(x.t());
      x = 3.4445 * x + (-4.7750 * square + 2.0315 * square.matmul(square)).matmul(x);
    }
    weight = weight * (1 - 0.01 * 0.5) - 0.01 * 0.2 * std::sqrt(56.0) * x;
    EXPECT_LT(difference(model.wide.detach(), weight), 2e-3) << step;  // iterates are bfloat16
  }
}

TEST(MuonTest, TheRestIsAdamWs) {
  SmallModel model, other;
  Optimizer optimizer(model, muon()), adamw(other, {.adamw = {.weight_decay = 0}});
  for (auto* one : {&model, &other}) one->draw_gradients(5);
  optimizer.step(0.01);
  adamw.step(0.01);
  EXPECT_TRUE(model.embeddings.equal(other.embeddings));
  EXPECT_TRUE(model.block->named_parameters()["gate"].equal(other.gate));
  EXPECT_TRUE(model.norm.equal(other.norm));
  EXPECT_GT(difference(model.wide, other.wide), 1e-4);
}

TEST(MuonTest, GoesOnFromWhatWasSaved) {
  SmallModel model, other;
  Optimizer first(model, muon());
  model.draw_gradients(5);
  first.step(0.01);
  std::map<std::string, at::Tensor> kept;
  RemoteTensors tensors{{}};
  first.save(tensors);
  tensors.write_on_first([&](const auto& all, const auto&) {
    for (const auto& [name, tensor] : all) kept[name] = tensor.clone();
  });
  EXPECT_TRUE(kept.contains("muon.momentum.block0.wide"));
  EXPECT_FALSE(kept.contains("adam.square.block0.wide"));
  at::NoGradGuard no_grad;
  for (const auto& item : model.named_parameters()) other.named_parameters()[item.key()].copy_(item.value());
  Optimizer second(other, muon());
  second.load(kept, "file");
  for (auto* one : {&model, &other}) one->draw_gradients(6);
  first.step(0.01);
  second.step(0.01);
  for (const auto& item : model.named_parameters())
    EXPECT_TRUE(item.value().equal(other.named_parameters()[item.key()])) << item.key();
  Optimizer adamw(other, {});
  EXPECT_SENTENCE(adamw.load(kept, "file"), "adam.mean.block0.wide");
}

TEST(MuonTest, ValuesThatCannotWorkAreRefused) {
  EXPECT_SENTENCE((MuonOptions{.momentum = 1}.check()), "muon_momentum is 1");
  EXPECT_SENTENCE((MuonOptions{.size = 0}.check()), "muon_size is 0");
}

}  // namespace
}  // namespace lact::train
