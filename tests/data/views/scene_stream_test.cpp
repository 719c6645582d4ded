#include "lact/data/views/scene_stream.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "lact/data/views/scene_source.h"
#include "lact/data/views/tracer/random_camera.h"
#include "lact/data/views/tracer/random_scene.h"
#include "lact/data/views/tracer/render.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::data {
namespace {

constexpr BatchShape kSmall{2, 3, 8, 12};

tracer::Scene any_scene(uint64_t seed) { return tracer::random_scene(seed); }

void expect_same(const SceneBatch& found, const SceneBatch& expected) {
  EXPECT_EQ(found.number, expected.number);
  EXPECT_TRUE(found.images.equal(expected.images)) << found.number;
  EXPECT_TRUE(found.intrinsics.equal(expected.intrinsics));
  EXPECT_TRUE(found.camera_to_world.equal(expected.camera_to_world));
}

/// Waits until the background threads have nothing more to do.
void fill_up(const SceneStream& stream, int64_t ahead) {
  while (stream.num_ready() < ahead) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(SceneStream, BatchesHoldViewsWithTheirCameras) {
  const SceneBatch batch = draw_batch(traced_views(any_scene), kSmall, 1, 4);
  EXPECT_EQ(batch.number, 4);
  EXPECT_EQ(batch.images.sizes(), (at::IntArrayRef{2, 3, 3, 8, 12}));
  EXPECT_EQ(batch.intrinsics.sizes(), (at::IntArrayRef{2, 3, 4}));
  EXPECT_EQ(batch.camera_to_world.sizes(), (at::IntArrayRef{2, 3, 4, 4}));
  EXPECT_EQ(batch.intrinsics[1][2][2].item<float>(), 6);
  // The picture is what its camera sees: the scene of the second seed, rendered anew.
  std::vector<uint64_t> seeds;
  const auto record = [&](uint64_t seed) {
    seeds.push_back(seed);
    return tracer::random_scene(seed);
  };
  draw_batch(traced_views(record), kSmall, 1, 4);
  ASSERT_EQ(seeds.size(), 2U);
  Camera camera;
  camera.width = 12;
  camera.height = 8;
  const at::Tensor intrinsics = batch.intrinsics[1][2].to(at::kDouble);
  camera.fx = intrinsics[0].item<double>(), camera.fy = intrinsics[1].item<double>();
  camera.cx = intrinsics[2].item<double>(), camera.cy = intrinsics[3].item<double>();
  for (int64_t row = 0; row < 4; ++row) {
    for (int64_t column = 0; column < 4; ++column) {
      camera.camera_to_world[static_cast<size_t>(row)][static_cast<size_t>(column)] =
          batch.camera_to_world[1][2][row][column].item<double>();
    }
  }
  const at::Tensor rendered = tracer::render(tracer::random_scene(seeds[1]), camera);
  EXPECT_LT((rendered - batch.images[1][2]).abs().mean().item<double>(), 1e-3);
}

TEST(SceneStream, NumbersMeanTheSameDataForAnyNumberOfThreads) {
  for (const int threads : {1, 3}) {
    SceneStream stream(traced_views(any_scene), kSmall, 7, {threads, 2});
    for (int64_t number = 0; number < 6; ++number) {
      expect_same(stream.take(number), draw_batch(traced_views(any_scene), kSmall, 7, number));
    }
  }
  EXPECT_FALSE(draw_batch(traced_views(any_scene), kSmall, 7, 0)
                   .images.equal(draw_batch(traced_views(any_scene), kSmall, 8, 0).images));
  EXPECT_FALSE(draw_batch(traced_views(any_scene), kSmall, 7, 0)
                   .images.equal(draw_batch(traced_views(any_scene), kSmall, 7, 1).images));
}

TEST(SceneStream, RunsCanResumeAndJumpAnywhere) {
  SceneStream stream(traced_views(any_scene), kSmall, 7, {2, 3});
  for (const int64_t number : std::vector<int64_t>{100, 101, 3, 4, 4, 103, 102, 1000000000000}) {
    expect_same(stream.take(number), draw_batch(traced_views(any_scene), kSmall, 7, number));
  }
  EXPECT_SENTENCE(stream.take(-1), "batch -1 is asked for");
}

TEST(SceneStream, WorksAheadAndNoFurther) {
  std::atomic<int> scenes = 0;
  const auto counting = [&](uint64_t seed) {
    ++scenes;
    return tracer::random_scene(seed);
  };
  SceneStream stream(traced_views(counting), kSmall, 1, {2, 3});
  fill_up(stream, 3);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(scenes, 3 * 2) << "three batches of two scenes";
  EXPECT_EQ(stream.times_waited(), 0);
  stream.take(0);
  EXPECT_EQ(stream.times_waited(), 0) << "it was ready";
  EXPECT_EQ(stream.seconds_waited(), 0);
  fill_up(stream, 3);
  EXPECT_EQ(scenes, 4 * 2) << "each was made once";
  stream.take(50);
  EXPECT_EQ(stream.times_waited(), 1);
  EXPECT_GT(stream.seconds_waited(), 0);
}

TEST(SceneStream, BatchesMayDifferInTheirViews) {
  const auto shape_of = [](int64_t number) {
    BatchShape shape = kSmall;
    shape.inputs = 1 + number % 2;
    shape.views = shape.inputs + 2;
    return shape;
  };
  SceneStream stream(traced_views(any_scene), shape_of, 7, {2, 3});
  for (const int64_t number : {0, 1, 2, 1}) {
    const SceneBatch batch = stream.take(number);
    EXPECT_EQ(batch.inputs, 1 + number % 2);
    expect_same(batch, draw_batch(traced_views(any_scene), shape_of(number), 7, number));
  }
}

TEST(SceneStream, EndsAtAnyTime) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    SceneStream busy(traced_views(any_scene), kSmall, 3, {3, 2});
    if (attempt % 3 == 1) busy.take(attempt);
    if (attempt % 3 == 2) fill_up(busy, 2);
  }
}

TEST(SceneStream, WhatGoesWrongInAThreadReachesTheConsumer) {
  const uint64_t bad_seed = [] {
    uint64_t first = 0;
    const auto record = [&](uint64_t seed) {
      first = seed;
      return tracer::random_scene(seed);
    };
    draw_batch(traced_views(record), {1, 1, 4, 4}, 5, 2);
    return first;
  }();
  const auto failing = [&](uint64_t seed) {
    LACT_CHECK(seed != bad_seed, "model.obj: line 3: broken");
    return tracer::random_scene(seed);
  };
  SceneStream stream(traced_views(failing), BatchShape{1, 1, 4, 4}, 5, {2, 4});
  stream.take(0);
  stream.take(1);
  EXPECT_SENTENCE(stream.take(2), "model.obj: line 3: broken");
  EXPECT_SENTENCE(stream.take(2), "model.obj: line 3: broken");
  EXPECT_EQ(stream.take(3).number, 3) << "the others are fine";

  const auto foreign = [](uint64_t) -> tracer::Scene { throw std::runtime_error("out of luck"); };
  SceneStream other(traced_views(foreign), BatchShape{1, 1, 4, 4}, 5);
  EXPECT_SENTENCE(other.take(6), "drawing batch 6: out of luck");
}

TEST(SceneStream, BadMeshesGiveTheirSentence) {
  const testing::TemporaryFolder folder;
  testing::write_file(folder / "bad.obj", "v 0 0 0\nf 1 2 3\n");
  SceneSourceConfig config;
  config.meshes = {folder / "bad.obj"};
  config.mesh_share = 1;
  config.holdout = 0;
  const SceneSource source(config, ScenePart::kTrain);
  SceneStream stream(traced_views([&](uint64_t seed) { return source.scene(seed); }), kSmall, 1);
  EXPECT_SENTENCE(stream.take(0), "bad.obj: line 2: face refers to vertex 2");
}

TEST(SceneStream, BadShapesAndOptionsGiveASentence) {
  EXPECT_SENTENCE(SceneStream(traced_views(any_scene), BatchShape{0, 1, 8, 8}, 1),
                  "a batch of 0 scenes with 1 views of 8 x 8 pixels");
  EXPECT_SENTENCE(SceneStream(traced_views(any_scene), BatchShape{1, 1, 8, 100000}, 1),
                  "100000 pixels cannot be rendered");
  EXPECT_SENTENCE(SceneStream(traced_views(any_scene), BatchShape{1000000, 1000000, 8000, 8000}, 1),
                  "cannot be rendered");
  EXPECT_SENTENCE(SceneStream(traced_views(any_scene), kSmall, 1, {0, 1}), "0 drawing threads");
  EXPECT_SENTENCE(SceneStream(traced_views(any_scene), kSmall, 1, {1, 0}), "0 batches ahead");
}

}  // namespace
}  // namespace lact::data
