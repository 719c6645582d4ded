#include "lact/tasks/nvs/training/task.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "lact/base/memory_use.h"
#include "lact/data/views/camera.h"
#include "lact/io/image.h"
#include "lact/models/nvs/folder.h"
#include "lact/ops/images/rays.h"
#include "lact/tasks/nvs/training/run.h"
#include "support/errors.h"
#include "support/random_alexnet.h"
#include "support/temporary_folder.h"

namespace lact::tasks::nvs {
namespace {

using TrainingRun = Run;  // inside of a TEST, Run is a method of googletest's
using lact::testing::sentence_of;
using lact::testing::TemporaryFolder;
using ::testing::HasSubstr;

models::NvsConfig toy_nvs() {
  models::NvsConfig config;
  config.model_dim = 16;
  config.num_layers = 1;
  config.attention = models::nvs_attention(2);
  config.lact = models::nvs_memory(1);
  config.feed_forward.hidden_dim = 32;
  return config;
}

const std::vector<Stage> kTwoStages = {{.steps = 2, .size = 16, .inputs = 2, .targets = 1, .scenes = 2},
                                       {.steps = 0, .size = 24, .inputs = 3, .targets = 2, .scenes = 1}};

TrainingRun toy_run(int64_t steps = 4) {
  TrainingRun run;
  run.model = toy_nvs();
  run.precision = ops::Precision::f32;
  run.stages = kTwoStages;
  run.training.steps = steps;
  run.training.warmup = 1;
  run.training.validate_every = 2;
  run.training.save_every = 2;
  run.training.log_every = 1;
  run.valid_scenes = 2;
  return run;
}

std::shared_ptr<TrainingTask> toy_task(int64_t accumulate = 1) {
  at::manual_seed(3);
  TaskOptions options;
  options.stages = kTwoStages;
  options.accumulate = accumulate;
  options.valid_scenes = 2;
  return std::make_shared<TrainingTask>(
      std::make_shared<models::NvsModel>(toy_nvs()),
      std::make_shared<data::SceneSource>(data::SceneSourceConfig(), data::ScenePart::kTrain),
      std::make_shared<data::SceneSource>(data::SceneSourceConfig(), data::ScenePart::kHoldout), options);
}

std::string stages_refused(const std::vector<Stage>& stages, int64_t steps) {
  return sentence_of<Error>([&] { check_stages(stages, steps, 8); });
}

TEST(NvsTraining, ABatchOfANumberIsAlwaysTheSame) {
  const double second = toy_task()->loss(1).item<double>();
  const auto task = toy_task();
  task->loss(0);
  EXPECT_EQ(task->loss(1).item<double>(), second);
  EXPECT_NE(task->loss(0).item<double>(), second);
}

TEST(NvsTraining, StagesChangeSizeAndViewsAtTheirSteps) {
  const auto task = toy_task();
  EXPECT_EQ(task->tokens_of_batch(0), 2 * 3 * 4);
  EXPECT_EQ(task->tokens_of_batch(1), 2 * 3 * 4);
  EXPECT_EQ(task->tokens_of_batch(2), 1 * 5 * 9);
  EXPECT_EQ(toy_task(2)->tokens_of_batch(3), 2 * 3 * 4);
  EXPECT_GT(task->flops_of_batch(2), task->flops_of_batch(0));
  for (int64_t batch = 0; batch < 4; ++batch) EXPECT_TRUE(std::isfinite(task->loss(batch).item<double>()));
}

TEST(NvsTraining, ScenesAreSeenInTheFrameOfTheirInputsIfAsked) {
  const data::SceneSource source({}, data::ScenePart::kTrain);
  data::SceneBatch batch = data::render_batch([&](uint64_t seed) { return source.scene(seed); },
                                              {.scenes = 2, .views = 5, .height = 16, .width = 16}, 1, 0);
  const at::Tensor before = batch.camera_to_world.clone();
  to_frames(batch, 3, data::FrameChoice::mean_pose);
  const at::Tensor places = batch.camera_to_world.narrow(1, 0, 3).narrow(2, 0, 3).select(3, 3);
  EXPECT_LT(places.mean(1).abs().max().item<double>(), 1e-5);
  EXPECT_NEAR(places.abs().amax(std::vector<int64_t>{1, 2}).min().item<double>(), 1, 1e-5);
  // Turned and scaled as a whole: distances keep their ratios, also to the target views.
  const auto distance = [](const at::Tensor& poses, int64_t a, int64_t b) {
    return (poses[1][a] - poses[1][b]).narrow(0, 0, 3).select(1, 3).norm().item<double>();
  };
  EXPECT_NEAR(distance(batch.camera_to_world, 0, 4) / distance(batch.camera_to_world, 1, 3),
              distance(before, 0, 4) / distance(before, 1, 3), 1e-4);
}

TEST(NvsTraining, LearnsTheMeanColourAtLeast) {
  TemporaryFolder folder;
  TrainingRun run = toy_run(60);
  run.stages = {{.steps = 0, .size = 16, .inputs = 2, .targets = 2, .scenes = 4}};
  run.training.rate = 1e-2;
  run.training.validate_every = 60;
  run.valid_scenes = 8;
  const auto result = train::start_run(run, {.folder = folder / "run"});
  EXPECT_TRUE(result.finished);
  EXPECT_GT(result.validation.at("psnr"), 9);  // grey, which an untrained model shows, has about 6
  EXPECT_GE(result.validation.at("seconds_waited_for_pictures"), 0);
}

TEST(NvsTraining, ARunLeavesAModelAndSheetsAndGoesOnBitForBit) {
  TemporaryFolder folder;
  train::start_run(toy_run(), {.folder = folder / "whole"});
  EXPECT_FALSE(train::start_run(toy_run(), {.folder = folder / "cut", .stop_after = 3}).finished);
  EXPECT_TRUE(train::resume_run<TrainingRun>({.folder = folder / "cut"}).finished);
  EXPECT_EQ(fingerprint(*models::load_nvs(folder / "cut")), fingerprint(*models::load_nvs(folder / "whole")));
  EXPECT_EQ(models::read_nvs_training(folder / "whole").frame, "object");
  EXPECT_EQ(models::read_nvs_training(folder / "whole").image_size->width, 24);
  // One of two scenes of two views, truth above renders.
  const at::Tensor sheet = io::read_image(folder / "whole/samples/step_0000004.png");
  EXPECT_EQ(sheet.sizes(), (std::vector<int64_t>{4 * 24 + 3 * 2, 2 * 24 + 2, 3}));
  // What `auto` came to is what a run keeps, wherever it goes on.
  TrainingRun chosen = toy_run();
  chosen.precision = ops::Precision::automatic;
  train::start_run(chosen, {.folder = folder / "auto"});
  EXPECT_EQ(train::read_run<TrainingRun>(folder / "auto").precision,
            ops::resolved(ops::Precision::automatic));
  EXPECT_THAT(sentence_of<Error>([&] { train::start_run(toy_run(), {.folder = folder / "cut"}); }),
              HasSubstr("holds a run already"));
}

TEST(NvsTraining, BeginsWithTheWeightsOfAnotherModel) {
  TemporaryFolder folder;
  at::manual_seed(8);
  models::save_nvs(folder / "model", models::NvsModel(toy_nvs()));
  TrainingRun run = toy_run(1);
  run.stages = {kTwoStages[1]};
  run.training.rate = 1e-9;
  run.initial_model = folder / "model";
  train::start_run(run, {.folder = folder / "run"});
  const auto before = models::load_nvs(folder / "model"), after = models::load_nvs(folder / "run");
  EXPECT_NE(fingerprint(*before), fingerprint(*after));
  for (size_t i = 0; i < before->parameters().size(); ++i) {
    EXPECT_TRUE(at::allclose(after->parameters()[i], before->parameters()[i], 0, 1e-6));
  }
}

TEST(NvsTraining, AModelThatCannotBeTrainedHereIsRefusedBeforeItIsMade) {
  TrainingRun run = toy_run();
  // Its weights alone would fit.
  run.model.feed_forward.hidden_dim = machine_memory_bytes() / 16 / run.model.model_dim;
  EXPECT_SENTENCE(run.make_task("", ""),
                  "not enough memory for weights, gradients and moments of a model of ");
}

TEST(NvsTraining, StagesThatCannotWorkAreRefused) {
  EXPECT_THAT(stages_refused({}, 5), HasSubstr("at least one"));
  EXPECT_THAT(stages_refused({{.size = 20}}, 5), HasSubstr("size 20 does not divide into patches of 8"));
  EXPECT_THAT(stages_refused({{.near = std::nan("")}}, 5), HasSubstr("stage 1: near is nan"));
  EXPECT_THAT(stages_refused({{.size = 4096, .inputs = 4096, .targets = 4096, .scenes = 4096}}, 5),
              HasSubstr("pixels of a batch"));
  EXPECT_THAT(stages_refused({{.inputs = std::numeric_limits<int64_t>::max()}}, 5),
              HasSubstr("inputs is 9223372036854775807"));
  EXPECT_THAT(stages_refused({{.inputs = 0}}, 5), HasSubstr("stage 1: inputs is 0"));
  EXPECT_THAT(stages_refused({{.steps = 0}, {}}, 5), HasSubstr("stage 1: steps is 0"));
  EXPECT_THAT(stages_refused({{.steps = 5}, {}}, 5), HasSubstr("5 steps, but the whole run 5"));
  EXPECT_THAT(stages_refused({{.steps = 2}, {.steps = 2}}, 5), HasSubstr("4 steps together, but the run 5"));
  EXPECT_EQ(stages_refused({{.steps = 2}, {.steps = 3}}, 5), "");
}

TEST(NvsTraining, APerceptualLossNeedsItsWeights) {
  TrainingRun run = toy_run();
  run.stages = {{.size = 32, .inputs = 2, .targets = 1, .scenes = 1}};
  run.loss.perceptual = 0.5;
  TemporaryFolder folder;
  EXPECT_THAT(sentence_of<Error>([&] { train::start_run(run, {.folder = folder / "run"}); }),
              HasSubstr("--lpips"));
  EXPECT_FALSE(std::filesystem::exists(folder / "run/run.json"));
}

TEST(NvsTraining, ThePerceptualLossBeginsAtItsStep) {
  const testing::RandomAlexNet net;
  const std::vector<Stage> stages = {{.size = 32, .inputs = 2, .targets = 1, .scenes = 1}};
  const auto task_with = [&](const LossOptions& loss) {
    at::manual_seed(3);
    TaskOptions options;
    options.stages = stages;
    options.accumulate = 2;
    options.loss = loss;
    const auto source =
        std::make_shared<data::SceneSource>(data::SceneSourceConfig(), data::ScenePart::kTrain);
    return std::make_shared<TrainingTask>(std::make_shared<models::NvsModel>(toy_nvs()), source, source,
                                          options);
  };
  const auto plain = task_with({}), late = task_with({.perceptual = 0.5,
                                                      .perceptual_from = 1,
                                                      .lpips = net.folder / "",
                                                      .network = models::LpipsNetwork::alex});
  // Two batches of a step: the first step has none of it.
  for (const int64_t batch : {0, 1}) {
    EXPECT_EQ(late->loss(batch).item<float>(), plain->loss(batch).item<float>());
    EXPECT_THAT(late->loss_text(1), ::testing::StartsWith("PSNR"));
  }
  const double more = late->loss(2).item<double>() - plain->loss(2).item<double>();
  EXPECT_GT(more, 1e-4);
  EXPECT_THAT(late->loss_text(1), ::testing::StartsWith("loss 1.0000, PSNR"));
  LossOptions twice = {.perceptual = 1, .lpips = net.folder / "", .network = models::LpipsNetwork::alex};
  EXPECT_NEAR(task_with(twice)->loss(2).item<double>() - plain->loss(2).item<double>(), 2 * more, 1e-5);
}

TEST(NvsTraining, APerceptualLossThatCannotBeginIsRefusedAtTheStart) {
  TrainingRun run = toy_run();
  run.loss = {.perceptual = 1, .perceptual_from = 3, .lpips = "weights"};
  EXPECT_SENTENCE(run.check(),
                  "stage 2: a perceptual loss is for pictures of at least 32 pixels, but size is 24");
  run.stages[1].size = 32;
  EXPECT_NO_THROW(run.check());  // the first stage, of 16 pixels, is over by then
  run.loss.perceptual_from = -1;
  EXPECT_SENTENCE(run.check(), "perceptual_from is -1, expected 0 to");
  run.loss = {.perceptual_from = 3};
  EXPECT_SENTENCE(run.check(), "perceptual_from is 3, but there is no perceptual loss");
}

}  // namespace
}  // namespace lact::tasks::nvs
