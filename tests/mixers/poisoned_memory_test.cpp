// Fused operations with fresh memory full of NaN: nothing may be read that was not written, also beyond the
// ragged ends of tiles.
#include <ATen/ATen.h>
#include <torch/autograd.h>

#include "cases/update_rules.h"
#include "lact/mixers/layout.h"
#include "lact/ops/activations/activations.h"
#include "lact/ops/attention/windows.h"
#include "lact/ops/linear/linear.h"
#include "lact/ops/losses/token_loss.h"
#include "lact/ops/newton_schulz/newton_schulz.h"
#include "lact/ops/norms/norms.h"
#include "lact/ops/rope/rope.h"
#include "lact/ttt/scan.h"
#include "support/instruction_sets.h"
#include "support/watched_memory.h"

namespace lact {
namespace {

using lact::testing::for_each_isa_and_pairs;
using Tensors = std::vector<at::Tensor>;

constexpr at::ScalarType kTypes[] = {at::kFloat, at::kBFloat16};

/// Values and all gradients of function(inputs), in poisoned memory and in ordinary one.
template <class Function>
void expect_unmoved(const Function& function, const Tensors& inputs) {
  lact::testing::expect_same_in_poisoned_memory([&] {
    Tensors leaves;
    for (const auto& input : inputs) leaves.push_back(input.detach().requires_grad_(true));
    const at::Tensor y = function(leaves);
    at::manual_seed(2);
    y.backward(at::randn(y.sizes()).to(y.scalar_type()));
    Tensors all = {y.detach()};
    for (const auto& leaf : leaves) {
      if (leaf.grad().defined()) all.push_back(leaf.grad());
    }
    EXPECT_EQ(all.size(), inputs.size() + 1);
    return all;
  });
}

TEST(PoisonedMemory, Linear) {
  at::manual_seed(1);
  for_each_isa_and_pairs([](const std::string&) {
    for (const auto type : kTypes) {
      for (const int64_t tokens : {33, 63, 200}) {
        expect_unmoved([](const Tensors& x) { return ops::linear(x[0], x[1], x[2]); },
                       {at::randn({tokens, 47}).to(type), at::randn({71, 47}), at::randn({71})});
      }
    }
  });
}

TEST(PoisonedMemory, NormsActivationsAndRotation) {
  at::manual_seed(2);
  const auto table = ops::rope_table(at::arange(67).unsqueeze(1), 22, {});
  for_each_isa_and_pairs([&](const std::string&) {
    for (const auto type : kTypes) {
      const at::Tensor x = at::randn({3, 67, 37}).to(type), weight = at::randn({37}), bias = at::randn({37});
      expect_unmoved([](const Tensors& in) { return ops::rms_norm(in[0], in[1], 1e-6); }, {x, weight});
      expect_unmoved([](const Tensors& in) { return ops::layer_norm(in[0], in[1], in[2], 1e-6); },
                     {x, weight, bias});
      expect_unmoved([](const Tensors& in) { return ops::scale_shift(in[0], in[1], in[2]); },
                     {x, weight, bias});
      expect_unmoved([](const Tensors& in) { return ops::l2_normalize(in[0], 1e-5); }, {x});
      expect_unmoved([](const Tensors& in) { return ops::silu_l2_normalize(in[0], 1e-5); }, {x});
      expect_unmoved([](const Tensors& in) { return ops::gated_silu(in[0], in[1]); }, {x, x + 1});
      expect_unmoved([&](const Tensors& in) { return ops::rope(in[0], table, ops::RopePairs::halves); },
                     {at::randn({2, 67, 3, 22}).to(type)});
    }
  });
}

TEST(PoisonedMemory, WindowAttention) {
  at::manual_seed(3);
  const auto video = interleaved_layout(2, {1, 5, 7}, 2, 33);
  const std::vector<std::pair<int64_t, ops::Window>> windows = {{150, ops::sliding_window({0, 150}, 41)},
                                                                {90, ops::block_window(90, 30)},
                                                                {video.tokens, video.window}};
  for_each_isa_and_pairs([&](const std::string&) {
    for (const auto type : kTypes) {
      for (const auto& [tokens, window] : windows) {
        const auto draw = [&, count = tokens](int64_t width) {
          return at::randn({2, count, 2, width}).to(type);
        };
        expect_unmoved(
            [&, &seen = window](const Tensors& x) { return ops::window_attention(x[0], x[1], x[2], seen); },
            {draw(24), draw(24), draw(40)});
      }
    }
  });
}

TEST(PoisonedMemory, TokenLoss) {
  at::manual_seed(4);
  const at::Tensor targets = at::randint(1003, {61}, at::kLong);
  for_each_isa_and_pairs([&](const std::string&) {
    for (const auto type : kTypes) {
      expect_unmoved([&](const Tensors& x) { return ops::token_losses(x[0], x[1], targets); },
                     {at::randn({61, 27}).to(type), at::randn({1003, 27}) * 0.3});
    }
  });
}

TEST(PoisonedMemory, NewtonSchulz) {
  at::manual_seed(5);
  for_each_isa_and_pairs([](const std::string&) {
    for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{33, 47}, {47, 33}, {7, 90}}) {
      expect_unmoved([](const Tensors& x) { return ops::newton_schulz(x[0], {}); },
                     {at::randn({2, rows, cols})});
    }
  });
}

TEST(PoisonedMemory, Scan) {
  constexpr int64_t kTokens = 111, kIn = 23, kHidden = 41;
  at::manual_seed(6);
  const auto draw = [](int64_t width) { return at::randn({1, 2, kTokens, width}); };
  Tensors tokens = {ops::l2_normalize(draw(kIn), 1e-5), ops::l2_normalize(draw(kIn), 1e-5), draw(kIn)};
  Tensors others = {at::rand({1, 2, kTokens, 1})};  // beta
  for (const auto& shape : ttt::network("swiglu").matrices(kIn, kHidden, kIn)) {
    others.push_back(at::randn({1, 2, shape.out, shape.in}) / std::sqrt(double(shape.in)));
    others.push_back(at::rand({1, 2, kTokens, 1}) * 0.3);
  }
  for_each_isa_and_pairs([&](const std::string&) {
    for (const auto& [name, rule] : cases::rules()) {
      for (const auto type : kTypes) {
        for (const bool recompute : {false, true}) {
          SCOPED_TRACE(name + (recompute ? ", recompute" : ""));
          Tensors inputs;
          for (const auto& x : tokens) inputs.push_back(x.to(type));
          inputs.insert(inputs.end(), others.begin() + (rule.momentum ? 0 : 1), others.end());
          const auto run = [&, &update = rule](const Tensors& all) {
            ttt::ScanInputs in;
            in.q = all[0], in.k = all[1], in.v = all[2];
            size_t next = 3;
            if (update.momentum) in.beta = all[next++];
            ttt::Matrices weights;
            for (int i = 0; i < 3; ++i) weights.push_back(all[next++]), in.rates.push_back(all[next++]);
            ttt::Memory memory = ttt::start_memory(update, weights);
            const ttt::FastWeightRule whole = {ttt::network("swiglu"), ttt::loss("dot_product"), update,
                                               recompute};
            const auto schedule = ttt::shifted_schedule(kTokens, 37);
            EXPECT_TRUE(ttt::fused::fits(whole, schedule, in, memory));
            return ttt::fused::scan(whole, schedule, in, memory);
          };
          expect_unmoved(run, inputs);
        }
      }
    }
  });
}

}  // namespace
}  // namespace lact
