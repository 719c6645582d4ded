// Training on several ranks, which are threads here, is training on one: the same weights after the same
// steps, for all three models and every way to share the work.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "lact/io/tensor_folder.h"
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
  run.stages = {{.steps = 0, .size = {16, 16}, .inputs = 3, .targets = 2, .scenes = 1}};
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

struct Way {
  Mesh mesh;
  parallel::Shard shard = parallel::Shard::optimizer;
  bool resume = false;
  int64_t stop_after = 0;
};

/// What each rank has in the end; rank 0's folder is `folder`.
std::vector<Trained> trained(const MakeTask& make, const train::TrainOptions& options, const Way& way,
                             const std::string& folder) {
  std::vector<Trained> results(size_t(way.mesh.ranks()));
  std::mutex one_at_a_time;  // threads share LibTorch's generator
  parallel::run_as_threads(way.mesh, [&](const World& world) {
    train::RunOptions run;
    run.folder = folder;
    run.stop = [] { return false; };
    run.world = world;
    run.resume = way.resume;
    run.stop_after = way.stop_after;
    run.shard = way.shard;
    run.lent = train::lent_parameters(run);
    std::shared_ptr<train::Task> task;
    {
      const std::lock_guard lock(one_at_a_time);
      const nn::LendingScope scope(run.lent);
      task = make();
    }
    Trained& result = results[size_t(world.all.rank())];
    result.loss = train::train(*task, options, run).loss;
    for (const auto& parameter : task->model().parameters())
      result.weights.push_back(nn::is_held(parameter) ? parameter.detach().clone() : at::Tensor());
  });
  return results;
}

void expect_same(const Trained& found, const Trained& expected, double tolerance) {
  ASSERT_EQ(found.weights.size(), expected.weights.size());
  EXPECT_GT(expected.loss, 0);
  EXPECT_NEAR(found.loss, expected.loss, tolerance * std::max(1.0, std::abs(expected.loss)));
  for (size_t i = 0; i < found.weights.size(); ++i) {
    if (!found.weights[i].defined()) continue;  // another rank keeps it
    const double scale = std::max(1.0, expected.weights[i].abs().max().item<double>());
    EXPECT_LE((found.weights[i] - expected.weights[i]).abs().max().item<double>() / scale, tolerance) << i;
  }
}

void expect_same_as_one(const MakeTask& make, const train::TrainOptions& options,
                        const std::vector<Mesh>& meshes, double tolerance) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  TemporaryFolder folder;
  const Trained one = trained(make, options, {Mesh{}}, folder / "one").front();
  int number = 0;
  for (const auto& mesh : meshes) {
    SCOPED_TRACE(parallel::to_string(mesh));
    const auto many = trained(make, options, {mesh}, folder / std::to_string(number++));
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
  expect_same_as_one(make_double, options, {{1, 2, 1}, {1, 2, 2}, {2, 2, 1}}, 1e-12);
}

TEST(ParallelTraining, ViewsAreThoseOfOneRank) {
  const auto options = short_training(20);
  expect_same_as_one(maker_of(toy_nvs_run(), options), options, kEachAxis, 1e-5);
}

TEST(ParallelTraining, AModelThatPredictsGaussiansIsTheSame) {
  const auto options = short_training(6);
  tasks::nvs::Run run = toy_nvs_run();
  run.model.head = models::NvsHead::gaussians;
  run.model.gaussians.scale_bias = -1.5;
  expect_same_as_one(maker_of(run, options), options, kEachAxis, 1e-5);
}

TEST(ParallelTraining, VideoIsThatOfOneRank) {
  const auto options = short_training(20);
  tasks::video::Run run = lact::testing::toy_video_run(20);
  run.model.layer = models::video_layer(2, 2);
  run.valid_clips = 0;
  run.stages = {{.steps = 0, .chunks = 4, .clips = 1}};
  expect_same_as_one(maker_of(run, options), options, kEachAxis, 1e-5);
}

TEST(ParallelTraining, EveryUpdateRuleIsThatOfOneRank) {
  const auto options = short_training(20);
  const auto check = [&](const char* name, const auto& change) {
    SCOPED_TRACE(name);
    auto run = toy_lm_run();
    run.model.num_layers = 1;
    auto& memory = run.model.layer.memory;
    memory.update.muon = memory.update.momentum = false;
    change(memory);
    expect_same_as_one(maker_of(run, options), options, {{1, 2, 1}}, 1e-5);
  };
  check("gradient", [](auto&) {});
  check("momentum", [](auto& memory) { memory.update.momentum = true; });
  check("muon", [](auto& memory) { memory.update.muon = true; });
  check("norm before reading", [](auto& memory) { memory.update.norm_placement = ttt::NormPlacement::pre; });
  check("no norm", [](auto& memory) { memory.update.norm_placement = ttt::NormPlacement::none; });
  check("norm of before", [](auto& memory) { memory.update.norm_target = ttt::NormTarget::previous; });
  check("uphill", [](auto& memory) { memory.update.ascent = true; });
  check("two steps", [](auto& memory) { memory.update.steps = 2; });
  check("down alone", [](auto& memory) { memory.update.written = ttt::Written::down; });
  check("anchor", [](auto& memory) { memory.update.elastic.pull = 0.3; });
  check("squared error", [](auto& memory) { memory.loss = "squared_error"; });
}

/// Weights, moments and averages that are shared out: the same run, in the same files.
void expect_same_when_lent(const MakeTask& make, const std::vector<Mesh>& meshes) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  auto options = short_training(6);
  options.accumulate = 4;
  options.ema = 0.5;
  options.validate_every = 3;
  TemporaryFolder folder;
  const auto written = [&](const std::string& name) {
    return io::read_safetensors(folder / (name + "/checkpoints/step-00000006.safetensors")).tensors;
  };
  trained(make, options, {Mesh{}}, folder / "one");
  const auto expected = written("one");
  const auto exported = io::read_tensor_folder(folder / "one");
  for (const auto& mesh : meshes) {
    const std::string name = parallel::to_string(mesh);
    SCOPED_TRACE(name);
    trained(make, options, {mesh, parallel::Shard::parameters}, folder / name);
    const auto compare = [](const auto& found, const auto& wanted) {
      ASSERT_EQ(found.size(), wanted.size());
      for (const auto& [key, tensor] : wanted) {
        if (key == "random") continue;  // threads share it
        EXPECT_TRUE(at::allclose(found.at(key), tensor, 1e-4, 1e-5)) << key;
      }
    };
    compare(written(name), expected);
    compare(io::read_tensor_folder(folder / name), exported);
  }
}

TEST(ParallelTraining, TextWithLentParametersIsThatOfOneRank) {
  expect_same_when_lent(maker_of(toy_lm_run(), short_training(6)), {{2, 1, 1}, {2, 2, 1}, {1, 1, 2}});
}

TEST(ParallelTraining, ViewsWithLentParametersAreThoseOfOneRank) {
  expect_same_when_lent(maker_of(toy_nvs_run(), short_training(6)), {{2, 1, 1}, {1, 2, 1}});
}

TEST(ParallelTraining, VideoWithLentParametersIsThatOfOneRank) {
  tasks::video::Run run = lact::testing::toy_video_run(6);
  run.model.layer = models::video_layer(2, 2);
  run.valid_clips = 2;
  run.stages = {{.steps = 0, .chunks = 4, .clips = 1}};
  expect_same_when_lent(maker_of(run, short_training(6)), {{2, 1, 1}, {1, 2, 1}});
}

TEST(ParallelTraining, LentParametersGoOnAsWholeOnesAndBack) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  TemporaryFolder folder;
  const auto options = short_training(9);
  const auto make = maker_of(toy_lm_run(), options);
  const Trained one = trained(make, options, {Mesh{}}, folder / "one").front();
  const auto lent = parallel::Shard::parameters;
  trained(make, options, {.mesh = {2, 1, 1}, .shard = lent, .stop_after = 3}, folder / "many");
  trained(make, options, {.mesh = {}, .resume = true, .stop_after = 6}, folder / "many");
  expect_same(trained(make, options, {.mesh = {1, 2, 1}, .shard = lent, .resume = true}, folder / "many")[1],
              one, 1e-5);
}

TEST(ParallelTraining, TheSameMeshTwiceGivesTheSameBits) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  TemporaryFolder folder;
  const auto options = short_training(5);
  const auto make = maker_of(toy_lm_run(), options);
  const auto first = trained(make, options, {{2, 2, 1}}, folder / "a");
  const auto second = trained(make, options, {{2, 2, 1}}, folder / "b");
  for (size_t i = 0; i < first[0].weights.size(); ++i)
    EXPECT_TRUE(first[0].weights[i].equal(second[0].weights[i]));
}

TEST(ParallelTraining, ACheckpointGoesOnUnderAnotherMesh) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  TemporaryFolder folder;
  auto options = short_training(10);
  options.save_every = 5;
  const auto make = maker_of(toy_lm_run(), options);
  const Trained one = trained(make, options, {Mesh{}}, folder / "one").front();
  // Five steps on four ranks, the rest on two others.
  trained(make, options, {.mesh = {2, 2, 1}, .stop_after = 5}, folder / "many");
  expect_same(trained(make, options, {.mesh = {1, 1, 2}, .resume = true}, folder / "many").front(), one,
              1e-5);
}

TEST(ParallelTraining, BatchesThatCopiesCannotShareAreRefused) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  auto options = short_training(2);
  options.accumulate = 3;
  TemporaryFolder folder;
  const auto make = maker_of(toy_lm_run(), options);
  EXPECT_SENTENCE(trained(make, options, {{2, 1, 1}}, folder / "run"), "cannot share out evenly");
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
