// Counts against formulas worked by hand.
#include "lact/models/plan/prediction.h"

#include <gmock/gmock.h>

#include "lact/base/error.h"
#include "lact/models/lm/presets.h"
#include "lact/models/nvs/presets.h"
#include "lact/models/video/presets.h"

namespace lact::models::plan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Property;

Workload text(const LmConfig& config, int64_t length, Pass pass = Pass::train) {
  Sizes sizes;
  sizes.pass = pass;
  sizes.length = length;
  return workload(config, sizes);
}

Arrangement on(parallel::Mesh mesh) {
  Arrangement arrangement;
  arrangement.mesh = mesh;
  return arrangement;
}

const Collective* find(const Prediction& prediction, const std::string& name) {
  for (const auto& part : prediction.traffic)
    if (part.name == name) return &part;
  return nullptr;
}

double seconds_of(const Prediction& prediction, const std::string& name) {
  double seconds = 0;
  for (const auto& part : prediction.work) seconds += part.name == name ? part.seconds : 0;
  return seconds;
}

double flops_of(const Prediction& prediction, const std::string& name) {
  double flops = 0;
  for (const auto& part : prediction.work) flops += part.name == name ? part.flops : 0;
  return flops;
}

// lm_760m: width 1536, heads of 384, 24 layers; chunks of 2048.
constexpr double kGradients = 3.0 * 1536 * 384 * 4;  // bytes of a layer: 3 d dh floats

TEST(Prediction, ContextRanksSumThreeMatricesPerLayerAndChunkForwardAndBackward) {
  const Prediction found = predict(text(lm_760m(), 32768), a100(), on({1, 2, 1}));
  const Collective* sums = find(found, "fast-weight gradients");
  ASSERT_NE(sums, nullptr);
  EXPECT_EQ(sums->axis, "context");
  EXPECT_DOUBLE_EQ(sums->payload, 2 * 24 * 15 * kGradients);  // the last of 16 chunks is not written
  EXPECT_DOUBLE_EQ(sums->calls, 2 * 24 * 15);
  EXPECT_DOUBLE_EQ(sums->sent, sums->payload);  // 2 (n - 1) / n
  const Prediction four = predict(text(lm_760m(), 32768), a100(), on({1, 4, 1}));
  EXPECT_DOUBLE_EQ(find(four, "fast-weight gradients")->sent, 1.5 * sums->payload);
}

TEST(Prediction, TheSumsDoNotGrowWithTheLengthOfAChunk) {
  for (const int64_t views : {8, 48}) {
    Sizes sizes;
    sizes.views = views;
    const Prediction found = predict(workload(nvs_312m(), sizes), a100(), on({1, 4, 1}));
    // One head of width 768, hidden layer twice as wide: 6 d².
    EXPECT_DOUBLE_EQ(find(found, "fast-weight gradients")->payload, 2 * 24 * 6.0 * 768 * 768 * 4);
    EXPECT_EQ(find(found, "keys and values"), nullptr) << "views are shared out whole";
  }
}

TEST(Prediction, TensorRanksSumTheirHeadsAndExchangeTokens) {
  const Prediction found = predict(text(lm_760m(), 32768), a100(), on({1, 2, 2}));
  EXPECT_DOUBLE_EQ(find(found, "fast-weight gradients")->payload, 2 * 24 * 15 * kGradients / 2);
  // q, k, v and results in bf16, 4 heads' three rates, momentum and scale in float32; of a quarter of the
  // tokens, half of which stay.
  const double token = 4 * 1536 * 2 + 4 * (3 + 1 + 1) * 4;
  EXPECT_DOUBLE_EQ(find(found, "heads: q, k, v, rates and results")->sent, 2 * 24 * 32768 / 4 * token / 2);
}

TEST(Prediction, AWindowAsksForTheKeysBeforeEveryPiece) {
  const Prediction found = predict(text(lm_760m(), 32768), a100(), on({1, 2, 1}));
  // 16 pieces, a window of 2048 before each, k and v in bf16, half of them another rank's.
  EXPECT_DOUBLE_EQ(find(found, "keys and values")->sent, 2 * 24 * 16 * 2048.0 * 2 * 1536 * 2 / 2);
}

TEST(Prediction, DataRanksSumAllGradients) {
  const Workload all = text(lm_760m(), 32768);
  const Prediction found = predict(all, a100(), on({4, 1, 1}));
  EXPECT_DOUBLE_EQ(find(found, "sum of gradients")->sent, 1.5 * 4 * all.parameters);
  EXPECT_DOUBLE_EQ(found.tokens, 4 * 32768);
  EXPECT_TRUE(predict(all, a100(), on({1, 1, 1})).traffic.empty());
  // Ranks that share a sequence have seen other tokens, too.
  EXPECT_DOUBLE_EQ(find(predict(all, a100(), on({1, 4, 1})), "sum of gradients")->sent,
                   1.5 * 4 * all.parameters);
}

TEST(Prediction, WorkIsThatOfTheModel) {
  const LmConfig config = lm_760m();
  const Prediction found = predict(text(config, 32768), a100(), on({1, 1, 1}));
  const double tokens = 32768, width = 1536;
  EXPECT_DOUBLE_EQ(flops_of(found, "projections"), 3 * 24 * tokens * 8 * width * width);
  EXPECT_DOUBLE_EQ(flops_of(found, "head and loss"), 3 * tokens * 2 * width * 32000);
  const double pairs = 2048 * tokens - 2048.0 * 2047 / 2;
  EXPECT_DOUBLE_EQ(flops_of(found, "window attention"), 3.5 * 24 * 4 * width * pairs);
  // 12 D F per token written and 6 D F per token read, of 4 heads.
  const double square = 384.0 * 384 * 4;
  EXPECT_DOUBLE_EQ(flops_of(found, "memory scan"), 3 * 24 * square * (12 * 15 * 2048 + 6 * tokens));
  // 5 steps of 6 D³ for 3 matrices of 4 heads.
  EXPECT_DOUBLE_EQ(flops_of(found, "Newton-Schulz"), 3 * 24 * 15 * 12 * 5 * 6.0 * 384 * 384 * 384);
}

TEST(Prediction, ContextRanksRepeatNewtonSchulzUnlessTheyShareIt) {
  const Workload all = text(lm_760m(), 32768);
  Arrangement arrangement = on({1, 4, 1});
  arrangement.share_newton_schulz = false;
  const Prediction one = predict(all, a100(), on({1, 1, 1})), repeated = predict(all, a100(), arrangement);
  arrangement.share_newton_schulz = true;
  const Prediction shared = predict(all, a100(), arrangement);
  EXPECT_DOUBLE_EQ(flops_of(repeated, "Newton-Schulz"), flops_of(one, "Newton-Schulz"));
  EXPECT_DOUBLE_EQ(flops_of(shared, "Newton-Schulz"), flops_of(one, "Newton-Schulz") / 4);
  EXPECT_NE(find(shared, "shared Newton-Schulz"), nullptr);
  EXPECT_DOUBLE_EQ(flops_of(repeated, "feed-forward"), flops_of(one, "feed-forward") / 4);
}

TEST(Prediction, ShardingTakesMomentsAndThenWeightsFromEveryRank) {
  const Workload all = text(lm_760m(), 32768);
  const double weights = 4 * all.parameters;
  Arrangement arrangement = on({4, 1, 1});
  const MemoryUse none = memory_of(all, arrangement);
  arrangement.shard = Shard::optimizer;
  const MemoryUse moments = memory_of(all, arrangement);
  arrangement.shard = Shard::parameters;
  const MemoryUse parameters = memory_of(all, arrangement);
  EXPECT_DOUBLE_EQ(none.weights, weights);
  EXPECT_DOUBLE_EQ(none.moments, 2 * weights);
  EXPECT_DOUBLE_EQ(moments.moments, weights / 2);
  EXPECT_DOUBLE_EQ(moments.weights, weights);
  EXPECT_DOUBLE_EQ(parameters.moments, weights / 2);
  EXPECT_LT(parameters.weights, 0.5 * weights);
  EXPECT_GT(parameters.weights, 0.25 * weights);
  Arrangement by_context = on({1, 4, 1});
  by_context.shard = Shard::parameters;
  EXPECT_DOUBLE_EQ(memory_of(all, by_context).weights, parameters.weights) << "all ranks share";
  EXPECT_EQ(predict(all, a100(), arrangement).arrangement.recompute, nn::Recompute::blocks);
  EXPECT_LT(parameters.peak(), moments.peak());
  EXPECT_LT(moments.peak(), none.peak());
}

TEST(Prediction, RecomputingTradesMemoryForTime) {
  const Workload all = text(lm_760m(), 32768);
  double memory = 1e18, work = 0;
  for (const auto recompute :
       {nn::Recompute::none, nn::Recompute::cheap, nn::Recompute::memory, nn::Recompute::blocks}) {
    Arrangement arrangement;
    arrangement.recompute = recompute;
    const Prediction found = predict(all, a100(), arrangement);
    EXPECT_LT(found.memory.activations, memory);
    EXPECT_GT(found.compute, work);
    memory = found.memory.activations, work = found.compute;
  }
}

TEST(Prediction, AccumulationKeepsGradientsBesideActivations) {
  const Workload all = text(lm_760m(), 32768);
  Arrangement arrangement;
  const Prediction one = predict(all, a100(), arrangement);
  arrangement.accumulate = 4;
  const Prediction four = predict(all, a100(), arrangement);
  EXPECT_NEAR(four.memory.peak() - one.memory.peak(), 4 * all.parameters, 1);
  EXPECT_DOUBLE_EQ(four.tokens, 4 * one.tokens);
  EXPECT_DOUBLE_EQ(seconds_of(four, "optimizer"), seconds_of(one, "optimizer"));
  EXPECT_NEAR(seconds_of(four, "feed-forward") / seconds_of(one, "feed-forward"), 4, 1e-9);
}

TEST(Prediction, GroupsThatLeaveANodeUseTheSlowerWire) {
  const Workload all = text(lm_760m(), 32768);
  Machine wide = a100(), narrow = a100();
  wide.ranks_per_node = 16, narrow.ranks_per_node = 8;
  const double inside = find(predict(all, wide, on({1, 16, 1})), "fast-weight gradients")->seconds;
  const double between = find(predict(all, narrow, on({1, 16, 1})), "fast-weight gradients")->seconds;
  EXPECT_GT(between, 5 * inside);
}

TEST(Prediction, MeshesThatCannotBeAreRefusedInASentence) {
  const Workload all = text(lm_760m(), 32768);
  const auto sentence = [&](const Arrangement& arrangement) -> std::string {
    try {
      check_mesh(all, arrangement);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(sentence(on({1, 1, 4})), "");
  EXPECT_THAT(sentence(on({1, 1, 8})),
              AllOf(HasSubstr("tensor=8"), HasSubstr("24 attention heads"), HasSubstr("4 memory heads")));
  EXPECT_THAT(sentence(on({1, 4096, 1})), HasSubstr("a chunk of 2048 tokens"));
  Arrangement three = on({2, 1, 1});
  three.accumulate = 3;
  EXPECT_THAT(sentence(three), HasSubstr("3 micro-batches"));
}

TEST(Prediction, SizesOfAnotherTaskAreRefused) {
  Sizes sizes;
  sizes.views = 4;
  EXPECT_THROW(workload(lm_760m(), sizes), Error);
  sizes = {};
  sizes.length = 4;
  EXPECT_THROW(workload(nvs_312m(), sizes), Error);
  EXPECT_THROW(workload(video_1_3b(), sizes), Error);
  EXPECT_THROW(text(lm_760m(), 64, Pass::render), Error);
}

TEST(Prediction, AVideoClipHasNoisyAndCleanChunks) {
  Sizes sizes;
  sizes.chunks = 7, sizes.noise_repeats = 2;
  const Workload all = workload(video_1_3b(), sizes);
  EXPECT_DOUBLE_EQ(all.tokens, 20.0 * 4680);  // the paper's 93,600 tokens
  EXPECT_DOUBLE_EQ(all.blocks.front().exchanged.updates, 6);
}

TEST(Prediction, RenderingReadsOnly) {
  Sizes sizes;
  sizes.pass = Pass::render;
  const Prediction found = predict(workload(nvs_312m(), sizes), a100(), {});
  EXPECT_DOUBLE_EQ(flops_of(found, "Newton-Schulz"), 0);
  EXPECT_DOUBLE_EQ(flops_of(found, "memory scan"), 24 * 4096 * 6.0 * 768 * 1536);
  EXPECT_DOUBLE_EQ(found.memory.moments, 0);
}

}  // namespace
}  // namespace lact::models::plan
