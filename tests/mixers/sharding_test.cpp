// A sequence that is shared out among ranks gives the numbers of the whole on one: outputs and gradients, for
// every layer, layout and mesh. Ranks are threads here.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <mutex>

#include "lact/mixers/lact/original_ttt.h"
#include "lact/mixers/recurrent/deltanet.h"
#include "lact/mixers/recurrent/gla.h"
#include "lact/mixers/recurrent/mamba2.h"
#include "lact/mixers/recurrent/mamba2_mixer.h"
#include "lact/mixers/sharding.h"
#include "lact/models/common/layers.h"
#include "lact/ops/dispatch/paths.h"
#include "support/errors.h"
#include "support/gradients.h"

namespace lact {
namespace {

using parallel::Mesh;
using parallel::World;

constexpr int64_t kWidth = 24, kHeads = 4;

using MakeLayer = std::function<std::shared_ptr<Mixer>()>;
struct NamedLayer {
  std::string name;
  MakeLayer make;
  bool views = true, ordered = true;  ///< layouts that it is for
};

std::shared_ptr<Mixer> hybrid(std::shared_ptr<Core> core, int64_t conv_width = 0) {
  ProjectionConfig projection;
  projection.conv_width = conv_width;
  attention::AttentionConfig attention;
  attention.num_heads = kHeads;
  attention.rope = ops::RopeOptions{100};
  return std::make_shared<HybridMixer>(kWidth, projection, attention, std::move(core), Rescaled::memory);
}

ttt::LactConfig memory_config() {
  ttt::LactConfig config;
  config.num_heads = kHeads;
  config.base_rate = 0.2;
  return config;
}

std::vector<NamedLayer> all_layers() {
  std::vector<NamedLayer> layers;
  const auto lact = [&](const std::string& name, const ttt::LactConfig& config, int64_t conv_width = 0) {
    layers.push_back({name, [=] { return hybrid(std::make_shared<ttt::Lact>(kWidth, config), conv_width); },
                      conv_width == 0});
  };
  ttt::LactConfig config = memory_config();
  lact("lact", config);
  config.update.muon = true;
  lact("lact, muon", config);
  config.update.momentum = true;
  config.update.norm_placement = ttt::NormPlacement::pre;
  lact("lact, momentum and muon, pre-norm", config);
  config.update.muon = false;
  config.update.norm_target = ttt::NormTarget::previous;
  config.update.norm_placement = ttt::NormPlacement::post;
  config.loss = "squared_error";
  config.update.steps = 2;
  config.base_rate = 0.01;
  lact("lact, squared error, two steps", config);
  config = memory_config();
  config.update.written = ttt::Written::down;
  config.update.norm_placement = ttt::NormPlacement::none;
  config.network = "linear";
  lact("linear memory without norms", config);
  config = memory_config();
  config.update.elastic.pull = 0.1;
  lact("lact, elastic anchor, convolution", config, 3);
  lact("original ttt", ttt::original_ttt(kHeads));
  layers.push_back({"window alone", [] { return hybrid(nullptr); }});
  attention::AttentionConfig attention;
  attention.num_heads = kHeads;
  layers.push_back({"full attention", [=] {
                      return models::make_full_layer(kWidth, {ProjectionConfig(), attention});
                    }});
  const auto recurrence = [&](const std::string& name, auto make, bool both_ways) {
    layers.push_back({name, [=] { return hybrid(make(both_ways)); }, both_ways, !both_ways});
  };
  const auto gla = [](bool both_ways) {
    recurrent::GlaConfig own;
    own.num_heads = kHeads, own.both_ways = both_ways;
    return std::make_shared<recurrent::Gla>(kWidth, own);
  };
  const auto deltanet = [](bool both_ways) {
    recurrent::DeltaNetConfig own;
    own.num_heads = kHeads, own.both_ways = both_ways;
    return std::make_shared<recurrent::DeltaNet>(kWidth, own);
  };
  const auto mamba2 = [](bool both_ways) {
    recurrent::Mamba2Config own;
    own.num_heads = kHeads, own.both_ways = both_ways;
    return std::make_shared<recurrent::Mamba2>(kWidth, own);
  };
  for (const bool both_ways : {false, true}) {
    const std::string ways = both_ways ? ", both ways" : "";
    recurrence("gla" + ways, gla, both_ways);
    recurrence("deltanet" + ways, deltanet, both_ways);
    recurrence("mamba2" + ways, mamba2, both_ways);
  }
  return layers;
}

struct NamedLayout {
  std::string name;
  SequenceLayout layout;
  bool views = false;
};

std::vector<NamedLayout> all_layouts() {
  return {{"text", causal_layout(75, 16, 6)},
          {"text, a window longer than a chunk", causal_layout(61, 16, 27)},
          {"documents", packed_layout({33, 1, 37, 3}, 16, 6)},
          {"views", views_layout(3, 2, 9), true},
          {"video", interleaved_layout(3, {1, 3, 5}, 2, 4)}};
}

/// The output, and the gradients of x and of every parameter for a loss that weighs each number of the
/// output.
struct Outcome {
  at::Tensor out, x_gradient;
  std::vector<at::Tensor> parameter_gradients;
};

std::shared_ptr<Mixer> prepared(const MakeLayer& make, at::ScalarType type) {
  at::manual_seed(3);
  auto layer = make();
  at::NoGradGuard no_grad;
  layer->to(type);
  for (auto& parameter : layer->parameters()) parameter.add_(at::randn_like(parameter) * 0.1);
  return layer;
}

Outcome outcome_of(Mixer& layer, const at::Tensor& x, const at::Tensor& weighting,
                   const SequenceLayout& layout) {
  Outcome outcome;
  const at::Tensor leaf = x.detach().clone().requires_grad_(true);
  const at::Tensor out = layer.forward(leaf, layout);
  (out * weighting).sum().backward();
  outcome.out = out.detach();
  outcome.x_gradient = leaf.grad();
  for (const auto& parameter : layer.parameters()) {
    outcome.parameter_gradients.push_back(parameter.grad().defined() ? parameter.grad()
                                                                     : at::zeros_like(parameter).detach());
  }
  return outcome;
}

double relative(const at::Tensor& found, const at::Tensor& expected) {
  if (expected.numel() == 0) return 0;
  return (found - expected).abs().max().item<double>() / std::max(1.0, expected.abs().max().item<double>());
}

void expect_same_as_whole(const NamedLayer& named, const NamedLayout& of, const Mesh& mesh,
                          at::ScalarType type, double tolerance) {
  SCOPED_TRACE(named.name + ", " + of.name + ", " + parallel::to_string(mesh));
  at::manual_seed(5);
  const auto options = at::TensorOptions().dtype(type);
  const at::Tensor x = at::randn({2, of.layout.tokens, kWidth}, options);
  const at::Tensor weighting = at::randn({2, of.layout.tokens, kWidth}, options);
  const Outcome whole = outcome_of(*prepared(named.make, type), x, weighting, of.layout);
  // In float32 a rule may amplify rounding, Newton-Schulz above all: not more than on one rank.
  const Outcome exact =
      outcome_of(*prepared(named.make, at::kDouble), x.to(at::kDouble), weighting.to(at::kDouble), of.layout);
  const auto allowed = [&](const at::Tensor& one, const at::Tensor& truth) {
    return type == at::kDouble ? tolerance : std::max(tolerance, 8 * relative(one, truth));
  };
  const double out_allowed = allowed(whole.out, exact.out),
               x_allowed = allowed(whole.x_gradient, exact.x_gradient);
  std::vector<std::shared_ptr<Mixer>> copies;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) copies.push_back(prepared(named.make, type));

  std::mutex mutex;
  std::vector<at::Tensor> sums(whole.parameter_gradients.size());
  parallel::run_as_threads(mesh, [&](const World& world) {
    const SequenceLayout layout = share_out(of.layout, world);
    const Sharding& sharding = *layout.sharding;
    const Outcome part = outcome_of(*copies[size_t(world.all.rank())], sharding.take(x, 1),
                                    sharding.take(weighting, 1), layout);
    const std::lock_guard lock(mutex);
    EXPECT_LT(relative(part.out, sharding.take(whole.out, 1)), out_allowed) << "rank " << world.all.rank();
    EXPECT_LT(relative(part.x_gradient, sharding.take(whole.x_gradient, 1)), x_allowed)
        << "rank " << world.all.rank();
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] = sums[i].defined() ? sums[i] + part.parameter_gradients[i] : part.parameter_gradients[i];
    }
  });
  const auto keys = copies.front()->named_parameters().keys();
  for (size_t i = 0; i < sums.size(); ++i) {
    EXPECT_LT(relative(sums[i], whole.parameter_gradients[i]),
              allowed(whole.parameter_gradients[i], exact.parameter_gradients[i]))
        << keys[i];
  }
}

void check_all(const Mesh& mesh, at::ScalarType type, double tolerance) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  for (const auto& layer : all_layers()) {
    for (const auto& layout : all_layouts()) {
      if (layout.views ? !layer.views : !layer.ordered) continue;
      expect_same_as_whole(layer, layout, mesh, type, tolerance);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Sharding, ContextOfTwoIsTheWhole) { check_all({1, 2, 1}, at::kDouble, 5e-12); }
TEST(Sharding, RaggedContextOfThreeIsTheWhole) { check_all({1, 3, 1}, at::kDouble, 5e-12); }
TEST(Sharding, HeadsOnTwoRanksAreTheWhole) { check_all({1, 1, 2}, at::kDouble, 5e-12); }
TEST(Sharding, ContextAndHeadsAreTheWhole) { check_all({1, 2, 2}, at::kDouble, 5e-12); }
TEST(Sharding, FusedPathsAreTheWhole) { check_all({1, 2, 1}, at::kFloat, 2e-5); }
TEST(Sharding, FusedPathsOfHeadsAreTheWhole) { check_all({1, 1, 2}, at::kFloat, 2e-5); }

TEST(Sharding, EveryTokenHasOneRankAndEveryRankAPartOfEachChunk) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  parallel::run_as_threads({1, 2, 2}, [&](const World& world) {
    const SequenceLayout whole = causal_layout(64, 16, 8);
    const Sharding sharding(whole, world);
    std::vector<int> holders(64, 0);
    for (int64_t shard = 0; shard < 4; ++shard) {
      for (const auto& range : sharding.of_shard(shard)) {
        EXPECT_EQ(range.size(), 4);
        for (int64_t i = range.begin; i < range.end; ++i) ++holders[size_t(i)];
      }
      EXPECT_EQ(sharding.of_shard(shard).size(), 4u);
    }
    EXPECT_THAT(holders, ::testing::Each(1));
  });
}

TEST(Sharding, ViewsStayWhole) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  parallel::run_as_threads({1, 2, 1}, [&](const World& world) {
    const Sharding sharding(views_layout(3, 2, 7), world);
    for (const auto& range : sharding.own()) {
      EXPECT_EQ(range.begin % 7, 0);
      EXPECT_EQ(range.end % 7, 0);
    }
    // No keys or values travel: attention inside of a view is local.
    EXPECT_EQ(world.context.traffic().exchanges, 0);
  });
}

TEST(Sharding, HeadsThatDoNotDivideAreRefused) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  const auto layer = prepared([] { return hybrid(nullptr); }, at::kFloat);
  parallel::run_as_threads({1, 1, 3}, [&](const World& world) {
    const SequenceLayout layout = share_out(causal_layout(30, 8, 6), world);
    EXPECT_SENTENCE(layer->forward(at::randn({1, layout.tokens, kWidth}), layout),
                    "4 heads cannot be shared out among the 3 ranks");
  });
}

}  // namespace
}  // namespace lact
