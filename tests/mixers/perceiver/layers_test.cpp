#include "lact/mixers/perceiver/layers.h"

#include <ATen/ATen.h>

#include "support/dependence.h"
#include "support/errors.h"
#include "support/gradients.h"

namespace lact::perceiver {
namespace {

using lact::testing::difference;
using lact::testing::expect_gradients;
using lact::testing::randn;

constexpr int64_t kWidth = 12, kCount = 5, kHeads = 3;

LayerOptions options_of(bool head_norm = true) {
  LayerOptions options;
  options.num_heads = kHeads;
  options.head_norm = head_norm;
  options.norm = {nn::NormKind::layer, 1e-5};
  options.feed_forward = {nn::FeedForwardKind::gelu, 20};
  return options;
}

/// Large enough weights that every dependence shows.
template <class Module>
std::shared_ptr<Module> shaken(std::shared_ptr<Module> module) {
  at::NoGradGuard no_grad;
  module->to(at::kDouble);
  for (auto& parameter : module->parameters()) parameter.add_(at::randn_like(parameter) * 0.3);
  return module;
}

struct Layers {
  std::shared_ptr<Registers> registers = shaken(std::make_shared<Registers>(kWidth, PerceiverConfig{kCount}));
  std::shared_ptr<ReadingLayer> reading;
  std::shared_ptr<LookingLayer> looking;

  explicit Layers(const LayerOptions& options = options_of()) {
    at::manual_seed(4);
    reading = shaken(std::make_shared<ReadingLayer>(kWidth, options, registers));
    looking = shaken(std::make_shared<LookingLayer>(kWidth, options, registers));
  }
};

at::Tensor registers_of(State& state) { return dynamic_cast<RegisterState&>(state).registers; }

at::Tensor read_into(ReadingLayer& layer, const at::Tensor& x, const SequenceLayout& layout,
                     const at::Tensor& registers) {
  const auto state = layer.initial_state(x.size(0));
  dynamic_cast<RegisterState&>(*state).registers = registers;
  EXPECT_FALSE(layer.advance(x, layout, *state).defined());
  return registers_of(*state);
}

// The equations once more, head by head.
TEST(Perceiver, ReadingIsAttentionOfRegistersToTokensAndThemselves) {
  const Layers layers(options_of(false));
  at::NoGradGuard no_grad;
  auto named = layers.reading->named_parameters();
  const at::Tensor x = randn({2, 8, kWidth}), registers = randn({2, kCount, kWidth});
  const auto norm = [&](const at::Tensor& y, const std::string& name) {
    return at::layer_norm(y, {kWidth}, named[name + ".weight"], {}, 1e-5);
  };
  const at::Tensor normed = norm(registers, "register_norm"), seen = at::cat({x, normed}, 1);
  const auto weights = named["attention.projection.qkv.weight"].chunk(3, 0);
  const at::Tensor q = at::linear(normed, weights[0]), k = at::linear(seen, weights[1]),
                   v = at::linear(seen, weights[2]);
  std::vector<at::Tensor> heads;
  const int64_t width = kWidth / kHeads;
  for (int64_t head = 0; head < kHeads; ++head) {
    const auto part = [&](const at::Tensor& y) { return y.narrow(2, head * width, width); };
    heads.push_back(at::matmul(
        at::softmax(at::matmul(part(q), part(k).transpose(1, 2)) / std::sqrt(double(width)), -1), part(v)));
  }
  at::Tensor expected =
      registers + at::linear(at::cat(heads, 2), named["attention.projection.output.weight"]);
  expected =
      expected +
      at::linear(at::gelu(at::linear(norm(expected, "feed_forward_norm"), named["feed_forward.up.weight"])),
                 named["feed_forward.down.weight"]);
  EXPECT_LT(difference(read_into(*layers.reading, x, views_layout(2, 0, 4), registers), expected), 1e-12);
}

TEST(Perceiver, GradientsAreThoseOfFiniteDifferences) {
  const Layers layers;
  const SequenceLayout layout = views_layout(2, 1, 3);
  const auto both = [&](const std::vector<at::Tensor>& in) {
    const auto state = layers.looking->initial_state(2);
    dynamic_cast<RegisterState&>(*state).registers = read_into(*layers.reading, in[0], layout, in[1]);
    return layers.looking->advance(in[0], layout, *state);
  };
  expect_gradients(both, {randn({2, 9, kWidth}), randn({2, kCount, kWidth})});
  // And every parameter has one.
  both({randn({2, 9, kWidth}), layers.registers->forward(2)}).square().sum().backward();
  for (const auto& module : {std::shared_ptr<torch::nn::Module>(layers.registers),
                             std::shared_ptr<torch::nn::Module>(layers.reading),
                             std::shared_ptr<torch::nn::Module>(layers.looking)}) {
    for (const auto& item : module->named_parameters()) {
      ASSERT_TRUE(item.value().grad().defined()) << item.key();
      EXPECT_GT(item.value().grad().abs().max().item<double>(), 0) << item.key();
    }
  }
}

TEST(Perceiver, PiecesCutAnywhereEqualTheWhole) {
  const Layers layers;
  const at::Tensor x = randn({2, 9, kWidth}), registers = randn({2, kCount, kWidth});
  const at::Tensor whole = read_into(*layers.reading, x, views_layout(1, 0, 9), registers);
  for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{9}, {1, 8}, {3, 3, 3}, {7, 1, 1}}) {
    const auto state = layers.reading->initial_state(2);
    dynamic_cast<RegisterState&>(*state).registers = registers;
    int64_t begin = 0;
    for (const int64_t length : lengths) {
      layers.reading->collect(x.narrow(1, begin, length), views_layout(0, 1, length), *state);
      EXPECT_TRUE(registers_of(*state).equal(registers));
      begin += length;
    }
    layers.reading->write_collected(*state);
    EXPECT_LT(difference(registers_of(*state), whole), 1e-12);
  }
}

TEST(Perceiver, RegistersSeeWrittenTokensAloneAndAllOfThem) {
  const Layers layers;
  const SequenceLayout layout = views_layout(2, 1, 2);
  const auto of_tokens = [&](const at::Tensor& x) {
    return read_into(*layers.reading, x, layout, layers.registers->forward(1));
  };
  at::Tensor expected = at::ones({kCount, 6}, at::kBool);
  expected.narrow(1, 4, 2).fill_(false);
  lact::testing::expect_same_mask(lact::testing::measured_dependence(of_tokens, randn({1, 6, kWidth}), 1),
                                  expected, "registers on tokens");
  // Without a write they stay as they are.
  const at::Tensor before = layers.registers->forward(1);
  EXPECT_TRUE(read_into(*layers.reading, randn({1, 4, kWidth}), views_layout(0, 2, 2), before).equal(before));
}

TEST(Perceiver, WhoLooksSeesEveryRegisterAndNoOtherToken) {
  const Layers layers;
  const SequenceLayout layout = views_layout(0, 2, 2);
  const at::Tensor x = randn({1, 4, kWidth});
  const auto looked = [&](const at::Tensor& tokens, const at::Tensor& registers) {
    const auto state = layers.looking->initial_state(1);
    dynamic_cast<RegisterState&>(*state).registers = registers;
    const at::Tensor out = layers.looking->advance(tokens, layout, *state);
    EXPECT_TRUE(registers_of(*state).equal(registers));
    return out;
  };
  const at::Tensor registers = layers.registers->forward(1).detach();
  const auto of_tokens = [&](const at::Tensor& tokens) { return looked(tokens, registers); };
  lact::testing::expect_same_mask(lact::testing::measured_dependence(of_tokens, x, 1),
                                  at::eye(4, at::kLong).to(at::kBool), "tokens on tokens");
  const auto of_registers = [&](const at::Tensor& given) { return looked(x, given); };
  lact::testing::expect_same_mask(lact::testing::measured_dependence(of_registers, registers.contiguous(), 1),
                                  at::ones({4, kCount}, at::kBool), "tokens on registers");
}

TEST(Perceiver, MistakesAreSentences) {
  LayerOptions options = options_of();
  options.projection.conv_width = 4;
  EXPECT_SENTENCE(Layers{options}, "[perceiver] conv_width is 4, expected 0");
  const Layers layers;
  const auto state = layers.reading->initial_state(1);
  EXPECT_SENTENCE(layers.reading->write_collected(*state), "nothing was collected");
  EXPECT_SENTENCE(layers.looking->advance(randn({1, 3, kWidth}), views_layout(0, 1, 4), *state),
                  "3 tokens but the layout is for 4");
}

}  // namespace
}  // namespace lact::perceiver
