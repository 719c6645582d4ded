#include "lact/models/plan/suggestion.h"

#include <gmock/gmock.h>

#include <set>

#include "lact/base/error.h"
#include "lact/models/lm/presets.h"
#include "lact/models/video/presets.h"

namespace lact::models::plan {
namespace {

TEST(Suggestion, EveryMeshIsValidOnceAndTheBestComesFirst) {
  const Workload all = workload(lm_760m(), {});
  const auto found = suggest(all, a100(), 16, {}, {});
  std::set<std::string> meshes;
  for (const auto& one : found) {
    EXPECT_EQ(one.arrangement.mesh.ranks(), 16);
    EXPECT_NO_THROW(check_mesh(all, one.arrangement));
    EXPECT_TRUE(meshes.insert(parallel::to_string(one.arrangement.mesh)).second);
  }
  // Divisors of 16 for tensor in {1, 2, 4}, which divide 24 and 4 heads: 5 + 4 + 3.
  EXPECT_EQ(found.size(), 12u);
  for (size_t i = 1; i < found.size() && found[i].fits; ++i) {
    EXPECT_TRUE(found[i - 1].fits);
    EXPECT_GT(found[i - 1].tokens_per_second(), 0.98 * found[i].tokens_per_second());
  }
}

TEST(Suggestion, AModelTooLargeForOneRankIsSharedOut) {
  // 15 B parameters: 240 GB of weights, gradients and moments.
  const Workload all = workload(video_14b(), {});
  EXPECT_FALSE(suggest(all, h100(), 1, {}, {}).front().fits);
  const Prediction best = suggest(all, h100(), 64, {}, {}).front();
  EXPECT_TRUE(best.fits);
  EXPECT_EQ(best.arrangement.shard, Shard::parameters);
}

TEST(Suggestion, GivenChoicesAreKept) {
  const Choices choices = {nn::Recompute::cheap, Shard::optimizer};
  for (const auto& one : suggest(workload(lm_760m(), {}), a100(), 8, {}, choices)) {
    EXPECT_EQ(one.arrangement.recompute, nn::Recompute::cheap);
    EXPECT_EQ(one.arrangement.shard, Shard::optimizer);
  }
}

TEST(Suggestion, MicroBatchesLimitTheDataAxis) {
  Arrangement two;
  two.accumulate = 2;
  for (const auto& one : suggest(workload(lm_760m(), {}), a100(), 8, two, {}))
    EXPECT_LE(one.arrangement.mesh.data, 2);
  two.accumulate = 1;
  LmConfig config = lm_760m();
  config.chunk_size = config.window_size = 2;
  EXPECT_THROW(suggest(workload(config, {}), a100(), 64, two, {}), Error);
}

}  // namespace
}  // namespace lact::models::plan
