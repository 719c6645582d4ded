// Training on several ranks, which are threads here, is training on one: the same weights after the same
// steps, for all three models and every way to share the work.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "lact/tasks/lm/training/run.h"
#include "lact/tasks/nvs/training/run.h"
#include "lact/tasks/video/training/run.h"
#include "lact/train/trainer.h"
#include "support/errors.h"
#include "support/temporary_folder.h"
#include "support/toy_video_run.h"

namespace lact {
namespace {

using lact::testing::TemporaryFolder;
using parallel::Mesh;
using parallel::World;
using MakeTask = std::function<std::shared_ptr<train::Task>()>;

train::TrainOptions short_training(int64_t steps) {
  train::TrainOptions options;
  options.steps = steps;
  options.accumulate = 2;
  options.rate = 1e-3;
  options.warmup = 2;
  options.validate_every = 0;
  options.save_every = 0;
  options.adamw.epsilon = 1e-4;  // else a gradient that is zero but for its rounding becomes a whole step
  return options;
}

tasks::lm::Run toy_lm_run(const models::MixerPattern& mixer = {}) {
  tasks::lm::Run run;
  run.model.vocabulary_size = 257;
  run.model.model_dim = 32;
  run.model.num_layers = 2;
  run.model.mixer = mixer;
  run.model.layer.memory.num_heads = 2;
  run.model.layer.memory.rope_heads = 0;
  run.model.layer.memory.update.muon = run.model.layer.memory.update.momentum = true;
  run.model.layer.attention.num_heads = 4;
  run.model.feed_forward.hidden_dim = 48;
  run.model.chunk_size = 16;
  run.model.window_size = 12;
  run.batches.batch = 2;
  run.batches.length = 45;
  run.precision = ops::Precision::f32;
  return run;
}

tasks::nvs::Run toy_nvs_run() {
  tasks::nvs::Run run;
  run.model.model_dim = 32;
  run.model.num_layers = 2;
  run.model.attention = models::nvs_attention(2);
  run.model.lact = models::nvs_memory(2);
  run.model.lact.memory.num_heads = 2;
  run.model.feed_forward.hidden_dim = 32;
  run.stages = {{.steps = 0, .size = 16, .inputs = 3, .targets = 2, .scenes = 1}};
  run.precision = ops::Precision::f32;
  run.valid_scenes = 0;
  return run;
}

template <class Run>
MakeTask maker_of(Run run, const train::TrainOptions& options) {
  return [=]() mutable {
    run.training = options;
    return std::shared_ptr<train::Task>(run.make_task("", ""));
  };
}

struct Trained {
  std::vector<at::Tensor> weights;
  double loss = 0;
};

/// What each rank has in the end; rank 0's folder is `folder`.
std::vector<Trained> trained(const MakeTask& make, const train::TrainOptions& options, const Mesh& mesh,
                             const std::string& folder, bool resume = false) {
  std::vector<std::shared_ptr<train::Task>> tasks;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) tasks.push_back(make());
  std::vector<Trained> results(tasks.size());
  parallel::run_as_threads(mesh, [&](const World& world) {
    const auto rank = size_t(world.all.rank());
    train::RunOptions run;
    run.folder = folder;
    run.stop = [] { return false; };
    run.world = world;
    run.resume = resume;
    results[rank].loss = train::train(*tasks[rank], options, run).loss;
    for (const auto& parameter : tasks[rank]->model().parameters())
      results[rank].weights.push_back(parameter.detach().clone());
  });
  return results;
}

void expect_same(const Trained& found, const Trained& expected, double tolerance) {
  ASSERT_EQ(found.weights.size(), expected.weights.size());
  EXPECT_NEAR(found.loss, expected.loss, tolerance * std::max(1.0, std::abs(expected.loss)));
  for (size_t i = 0; i < found.weights.size(); ++i) {
    const double scale = std::max(1.0, expected.weights[i].abs().max().item<double>());
    EXPECT_LE((found.weights[i] - expected.weights[i]).abs().max().item<double>() / scale, tolerance) << i;
  }
}

void expect_same_as_one(const MakeTask& make, const train::TrainOptions& options,
                        const std::vector<Mesh>& meshes, double tolerance) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  TemporaryFolder folder;
  const Trained one = trained(make, options, {}, folder / "one").front();
  int number = 0;
  for (const auto& mesh : meshes) {
    SCOPED_TRACE(parallel::to_string(mesh));
    const auto many = trained(make, options, mesh, folder / std::to_string(number++));
    expect_same(many.front(), one, tolerance);
    for (const auto& rank : many) {
      for (size_t i = 0; i < rank.weights.size(); ++i) EXPECT_TRUE(rank.weights[i].equal(many[0].weights[i]));
    }
  }
}

const std::vector<Mesh> kEachAxis = {{2, 1, 1}, {1, 2, 1}, {1, 1, 2}};
const std::vector<Mesh> kMeshes = {{2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {1, 2, 2}, {2, 2, 1}};

TEST(ParallelTraining, TextIsThatOfOneRank) {
  const auto options = short_training(20);
  expect_same_as_one(maker_of(toy_lm_run(), options), options, kMeshes, 1e-5);
}

TEST(ParallelTraining, TextInDoublePrecisionIsThatOfOneRank) {
  const auto options = short_training(20);
  const auto make = maker_of(toy_lm_run(), options);
  const auto make_double = [=] {
    auto task = make();
    task->model().to(at::kDouble);
    dynamic_cast<models::LanguageModel&>(task->model()).set_compute_type(at::kDouble);
    return task;
  };
  expect_same_as_one(make_double, options, kEachAxis, 1e-12);
}

TEST(ParallelTraining, ViewsAreThoseOfOneRank) {
  const auto options = short_training(20);
  expect_same_as_one(maker_of(toy_nvs_run(), options), options, kEachAxis, 1e-5);
}

TEST(ParallelTraining, VideoIsThatOfOneRank) {
  const auto options = short_training(20);
  tasks::video::Run run = lact::testing::toy_video_run(20);
  run.model.layer = models::video_layer(2, 2);
  run.valid_clips = 0;
  run.stages = {{.steps = 0, .chunks = 4, .clips = 1}};
  expect_same_as_one(maker_of(run, options), options, kEachAxis, 1e-5);
}

TEST(ParallelTraining, TheSameMeshTwiceGivesTheSameBits) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  TemporaryFolder folder;
  const auto options = short_training(5);
  const auto make = maker_of(toy_lm_run(), options);
  const auto first = trained(make, options, {2, 2, 1}, folder / "a");
  const auto second = trained(make, options, {2, 2, 1}, folder / "b");
  for (size_t i = 0; i < first[0].weights.size(); ++i)
    EXPECT_TRUE(first[0].weights[i].equal(second[0].weights[i]));
}

TEST(ParallelTraining, ACheckpointGoesOnUnderAnotherMesh) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  TemporaryFolder folder;
  auto options = short_training(10);
  options.save_every = 5;
  const auto make = maker_of(toy_lm_run(), options);
  const Trained one = trained(make, options, {}, folder / "one").front();
  // Five steps on four ranks, the rest on two others.
  std::vector<std::shared_ptr<train::Task>> tasks;
  for (int i = 0; i < 4; ++i) tasks.push_back(make());
  parallel::run_as_threads({2, 2, 1}, [&](const World& world) {
    train::RunOptions run;
    run.folder = folder / "many";
    run.stop = [] { return false; };
    run.world = world;
    run.stop_after = 5;
    EXPECT_FALSE(train::train(*tasks[size_t(world.all.rank())], options, run).finished);
  });
  expect_same(trained(make, options, {1, 1, 2}, folder / "many", /*resume=*/true).front(), one, 1e-5);
}

TEST(ParallelTraining, BatchesThatCopiesCannotShareAreRefused) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  auto options = short_training(2);
  options.accumulate = 3;
  TemporaryFolder folder;
  const auto make = maker_of(toy_lm_run(), options);
  EXPECT_SENTENCE(trained(make, options, {2, 1, 1}, folder / "run"), "cannot share out evenly");
}

TEST(ParallelTraining, ASignalToOneRankStopsAll) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  const auto options = short_training(50);
  TemporaryFolder folder;
  const auto make = maker_of(toy_lm_run(), options);
  std::vector<std::shared_ptr<train::Task>> tasks = {make(), make()};
  parallel::run_as_threads({2, 1, 1}, [&](const World& world) {
    train::RunOptions run;
    run.folder = folder / "run";
    run.world = world;
    int64_t asked = 0;
    run.stop = [&, rank = world.all.rank()] { return rank == 1 && ++asked > 3; };
    const auto result = train::train(*tasks[size_t(world.all.rank())], options, run);
    EXPECT_FALSE(result.finished);
    EXPECT_EQ(result.step, 3);
  });
}

TEST(ParallelTraining, ModelsThatDifferAreRefused) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  const auto options = short_training(2);
  TemporaryFolder folder;
  auto other = toy_lm_run();
  other.model.num_layers = 1;
  std::vector<std::shared_ptr<train::Task>> tasks = {maker_of(toy_lm_run(), options)(),
                                                     maker_of(other, options)()};
  parallel::run_as_threads({2, 1, 1}, [&](const World& world) {
    train::RunOptions run;
    run.folder = folder / "run";
    run.world = world;
    run.stop = [] { return false; };
    EXPECT_SENTENCE(train::train(*tasks[size_t(world.all.rank())], options, run),
                    "the model of rank 1 is not that of rank 0");
  });
}

}  // namespace
}  // namespace lact
