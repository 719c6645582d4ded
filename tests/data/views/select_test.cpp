#include "lact/data/views/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "lact/data/views/camera_path.h"
#include "support/errors.h"

namespace lact::data {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Camera> ring(int64_t views) {
  return turntable_cameras(
      {.num_views = views, .min_radius = 2, .max_radius = 2, .elevation = 20, .swing = 0});
}

std::vector<int64_t> all_of(const std::vector<Camera>& cameras) {
  std::vector<int64_t> indices(cameras.size());
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

TEST(Select, ThePapersSplitByHand) {
  const ViewSplit split = select_views(ring(20), {});
  EXPECT_THAT(split.targets, ElementsAre(0, 8, 16));
  EXPECT_THAT(split.inputs, ElementsAre(1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19));
}

TEST(Select, EveryNthIsEvenlySpread) {
  const auto cameras = ring(12);
  EXPECT_THAT(choose_views(cameras, all_of(cameras), 4, ViewChoice::every_nth, 0), ElementsAre(0, 3, 6, 9));
  const ViewSplit split = select_views(
      cameras, {.inputs = ViewChoice::every_nth, .num_inputs = 3, .target_every = 2, .num_targets = 2});
  EXPECT_THAT(split.targets, ElementsAre(0, 6));
  EXPECT_EQ(split.inputs.size(), 3u);
}

TEST(Select, InputsAreNeverTargetsAndTheSeedDecides) {
  const auto cameras = ring(30);
  for (const auto choice : {ViewChoice::random, ViewChoice::every_nth, ViewChoice::kmeans}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const ViewSelection selection{choice, 9, 0, 6, seed};
      const ViewSplit split = select_views(cameras, selection), again = select_views(cameras, selection);
      EXPECT_EQ(split.inputs, again.inputs);
      EXPECT_EQ(split.targets, again.targets);
      std::set<int64_t> all(split.inputs.begin(), split.inputs.end());
      all.insert(split.targets.begin(), split.targets.end());
      EXPECT_EQ(all.size(), 15u);
      EXPECT_TRUE(std::is_sorted(split.inputs.begin(), split.inputs.end()));
    }
  }
  const auto random = [&](uint64_t seed) {
    return select_views(cameras, {ViewChoice::random, 9, 0, 6, seed});
  };
  EXPECT_NE(random(1).inputs, random(2).inputs);
  EXPECT_NE(random(1).targets, random(2).targets);
}

TEST(Select, ClustersAreRepresentedByOneViewEach) {
  // Three heaps of cameras far from each other; within a heap they differ a little.
  std::vector<Camera> cameras;
  for (int i = 0; i < 30; ++i) {
    const double wobble = 0.01 * (i / 3);
    const Point places[] = {{3, wobble, 0}, {-3, wobble, 0.5}, {0, 3 + wobble, -0.5}};
    cameras.push_back({8, 8, 10, 10, 4, 4, look_at(places[i % 3], {0, 0, 0}, {0, 0, 1})});
  }
  for (uint64_t seed = 0; seed < 10; ++seed) {
    std::set<int64_t> heaps;
    for (const int64_t view : choose_views(cameras, all_of(cameras), 3, ViewChoice::kmeans, seed))
      heaps.insert(view % 3);
    EXPECT_EQ(heaps.size(), 3u) << seed;
  }
}

TEST(Select, AClusterIsRepresentedByTheViewInItsMiddle) {
  // Three crosses of five cameras that look the same way; two of the crosses are nearer to each other.
  std::vector<Camera> cameras;
  const Point middles[] = {{0, 0, 0}, {2, 0, 0}, {0, 7, 1}};
  const Point steps[] = {{0.3, 0, 0}, {0, 0.3, 0}, {0, 0, 0}, {-0.3, 0, 0}, {0, -0.3, 0}};
  for (const Point& middle : middles)
    for (const Point& step : steps) {
      const Point place = {middle[0] + step[0], middle[1] + step[1], middle[2]};
      cameras.push_back({8, 8, 10, 10, 4, 4, look_at(place, {place[0] + 1, place[1], place[2]}, {0, 0, 1})});
    }
  int found = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto chosen = choose_views(cameras, all_of(cameras), 3, ViewChoice::kmeans, seed);
    found += chosen == std::vector<int64_t>{2, 7, 12};
  }
  EXPECT_GE(found, 17);  // now and then two of the first centres lie in the same cross
}

TEST(Select, DirectionsMakeClustersToo) {
  // All in one place, looking two ways.
  std::vector<Camera> cameras;
  for (int i = 0; i < 10; ++i) {
    const double turn = 0.01 * i;
    const Point target = i % 2 == 0 ? Point{1, turn, 0} : Point{-1, turn, 0};
    cameras.push_back({8, 8, 10, 10, 4, 4, look_at({0, 0, 0}, target, {0, 0, 1})});
  }
  const auto chosen = choose_views(cameras, all_of(cameras), 2, ViewChoice::kmeans, 3);
  EXPECT_NE(chosen[0] % 2, chosen[1] % 2);
}

TEST(Select, EqualCamerasAreStillDifferentViews) {
  const std::vector<Camera> cameras(6, ring(1)[0]);
  const auto chosen = choose_views(cameras, all_of(cameras), 4, ViewChoice::kmeans, 1);
  EXPECT_EQ(std::set<int64_t>(chosen.begin(), chosen.end()).size(), 4u);
}

TEST(Select, MistakesAreASentence) {
  EXPECT_SENTENCE(select_views({}, {}), "the scene has no views");
  EXPECT_SENTENCE(select_views(ring(8), {.num_inputs = 8}),
                  "8 input views were asked for, but of 8 views 1 are targets and 7 are left");
  EXPECT_SENTENCE(select_views(ring(4), {.target_every = 0, .num_targets = 5}),
                  "5 views were asked for, but there are 4 to choose from");
  EXPECT_SENTENCE(select_views(ring(4), {.target_every = 1}), "4 are targets and 0 are left");
  EXPECT_SENTENCE(select_views(ring(4), {.num_inputs = -1}), "expected 0 or more");
  EXPECT_THAT(select_views(ring(4), {.target_every = 0}).targets, IsEmpty());
}

}  // namespace
}  // namespace lact::data
