#include "lact/tasks/nvs/training/task.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "lact/base/memory_use.h"
#include "lact/io/image.h"
#include "lact/models/nvs/folder.h"
#include "lact/models/nvs/model.h"
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

const std::vector<Stage> kTwoStages = {
    {.steps = 2, .size = {16, 16}, .inputs = 2, .targets = 1, .scenes = 2},
    {.steps = 0, .size = {24, 24}, .inputs = 3, .targets = 2, .scenes = 1}};

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
  const auto source = [](data::ScenePart part) {
    return std::make_shared<data::ViewSource>(data::SceneSourceConfig(), data::PhotoConfig(),
                                              data::FrameChoice::given, part);
  };
  return std::make_shared<TrainingTask>(std::make_shared<models::NvsModel>(toy_nvs()),
                                        source(data::ScenePart::kTrain), source(data::ScenePart::kHoldout),
                                        options);
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

TEST(NvsTraining, RunsOfSeveralSeedsAreMeasuredOnTheSameScenes) {
  const auto validated = [](int64_t seed, std::optional<int64_t> valid_seed) {
    TrainingRun run = toy_run();
    run.training.seed = seed;
    run.valid_seed = valid_seed;
    const TaskOptions options = run.task_options("");
    at::manual_seed(3);  // the same weights for all
    TrainingTask task(std::make_shared<models::NvsModel>(toy_nvs()), run.source(data::ScenePart::kTrain),
                      run.source(data::ScenePart::kHoldout), options);
    task.loss(0);
    return task.validate().at("psnr");
  };
  EXPECT_EQ(validated(1, 7), validated(2, 7));
  EXPECT_EQ(validated(7, {}), validated(1, 7));
  EXPECT_NE(validated(1, {}), validated(1, 7));
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

TEST(NvsTraining, LearnsTheMeanColourAtLeast) {
  TemporaryFolder folder;
  TrainingRun run = toy_run(60);
  run.stages = {{.steps = 0, .size = {16, 16}, .inputs = 2, .targets = 2, .scenes = 4}};
  run.training.rate = 1e-2;
  run.training.validate_every = 60;
  run.valid_scenes = 8;
  const auto result = train::start_run(run, {.folder = folder / "run"});
  EXPECT_TRUE(result.finished);
  EXPECT_GT(result.validation.at("psnr"), 9);  // grey, which an untrained model shows, has about 6
  EXPECT_GE(result.validation.at("share_waited_for_pictures"), 0);
  EXPECT_LE(result.validation.at("share_waited_for_pictures"), 1);
}

TEST(NvsTraining, PicturesHaveAnyShapeOfWholePatches) {
  TemporaryFolder folder;
  TrainingRun run = toy_run(2);
  run.stages = {{.size = {16, 32}, .inputs = 2, .targets = 1, .scenes = 1}};
  train::start_run(run, {.folder = folder / "run"});
  EXPECT_EQ(*models::read_nvs_training(folder / "run").image_size, (io::ImageSize{16, 32}));
  EXPECT_EQ(io::read_image(folder / "run/samples/step_0000002.png").sizes(),
            (std::vector<int64_t>{4 * 16 + 3 * 2, 32, 3}));
  // A wide picture costs what a square one of as many patches does.
  const auto task = [&](io::ImageSize size) {
    run.stages[0].size = size;
    return std::static_pointer_cast<TrainingTask>(run.make_task("", ""));
  };
  EXPECT_EQ(task({8, 32})->tokens_of_batch(0), task({16, 16})->tokens_of_batch(0));
  EXPECT_EQ(task({8, 32})->flops_of_batch(0), task({16, 16})->flops_of_batch(0));
}

TEST(NvsTraining, NumbersOfViewsVaryFromBatchToBatch) {
  TrainingRun run = toy_run();
  run.stages = {{.size = {8, 8}, .inputs = {1, 4}, .targets = {1, 2}, .scenes = 1}};
  const auto task = run.make_task("", ""), again = run.make_task("", "");
  std::set<int64_t> views;
  for (int64_t batch = 0; batch < 40; ++batch) {
    views.insert(task->tokens_of_batch(batch));  // a view is one patch
    EXPECT_EQ(task->tokens_of_batch(batch), again->tokens_of_batch(batch));
  }
  EXPECT_EQ(views, (std::set<int64_t>{2, 3, 4, 5, 6}));
  for (int64_t batch = 0; batch < 3; ++batch) EXPECT_TRUE(std::isfinite(task->loss(batch).item<double>()));
}

TEST(NvsTraining, StagesMayHaveRatesOfTheirOwn) {
  const train::RateSchedule schedule = {.peak = 1, .floor = 0, .warmup = 2, .steps = 10};
  TrainingRun run = toy_run(10);
  run.stages = {{.steps = 4, .size = {8, 8}}, {.size = {8, 8}}};
  for (int64_t step = 0; step < 10; ++step)
    EXPECT_EQ(run.make_task("", "")->rate(schedule, step), schedule.at(step)) << "one for all";
  run.stages[1].rate = 0.1;
  run.stages[1].warmup = 3;
  const auto task = run.make_task("", "");
  const train::RateSchedule first = {.peak = 1, .floor = 0, .warmup = 2, .steps = 4},
                            second = {.peak = 0.1, .floor = 0, .warmup = 3, .steps = 6};
  for (int64_t step = 0; step < 10; ++step)
    EXPECT_EQ(task->rate(schedule, step), step < 4 ? first.at(step) : second.at(step - 4)) << step;
  // A schedule goes on through stages that say nothing.
  run.stages = {{.steps = 1, .size = {8, 8}},
                {.steps = 3, .size = {16, 16}},
                {.steps = 2, .size = {8, 8}, .rate = 0.1, .warmup = 3},
                {.size = {16, 16}}};
  for (int64_t step = 0; step < 10; ++step)
    EXPECT_EQ(run.make_task("", "")->rate(schedule, step), step < 4 ? first.at(step) : second.at(step - 4))
        << step;
  run.training.minutes = 1;
  EXPECT_SENTENCE(run.check(), "with minutes the rate falls with the clock");
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
  EXPECT_THAT(stages_refused({{.size = {20, 20}}}, 5),
              HasSubstr("size 20 does not divide into patches of 8"));
  EXPECT_THAT(stages_refused({{.near = std::nan("")}}, 5), HasSubstr("stage 1: near is nan"));
  EXPECT_THAT(stages_refused({{.size = {4096, 4096}, .inputs = 4096, .targets = 4096, .scenes = 4096}}, 5),
              HasSubstr("pixels of a batch"));
  EXPECT_THAT(stages_refused({{.inputs = std::numeric_limits<int64_t>::max()}}, 5),
              HasSubstr("inputs is 9223372036854775807"));
  EXPECT_THAT(stages_refused({{.inputs = 0}}, 5), HasSubstr("stage 1: inputs is 0"));
  EXPECT_THAT(stages_refused({{.steps = 0}, {}}, 5), HasSubstr("stage 1: steps is 0"));
  EXPECT_THAT(stages_refused({{.steps = 5}, {}}, 5), HasSubstr("5 steps, but the whole run 5"));
  EXPECT_THAT(stages_refused({{.steps = 2}, {.steps = 2}}, 5), HasSubstr("4 steps together, but the run 5"));
  EXPECT_EQ(stages_refused({{.steps = 2}, {.steps = 3}}, 5), "");
}

TEST(NvsTraining, StagesAreReadAsWords) {
  Stage stage;
  options::read(options::Json{{"size", 64}, {"inputs", 4}, {"targets", "2-3"}}, stage, "stage");
  EXPECT_EQ(stage, (Stage{.size = {64, 64}, .inputs = 4, .targets = {2, 3}}));
  options::read(options::Json{{"size", "72x128"}}, stage, "stage");
  EXPECT_EQ(stage.size, (io::ImageSize{72, 128}));
  EXPECT_SENTENCE(options::read(options::Json{{"size", 1.5}}, stage, "stage"), "stage.size");
  EXPECT_SENTENCE(options::read(options::Json{{"inputs", "8-4"}}, stage, "stage"),
                  "stage.inputs: \"8-4\" is not a number or a range");
}

TEST(NvsTraining, APerceptualLossNeedsItsWeights) {
  TrainingRun run = toy_run();
  run.stages = {{.size = {32, 32}, .inputs = 2, .targets = 1, .scenes = 1}};
  run.loss.perceptual = 0.5;
  TemporaryFolder folder;
  EXPECT_THAT(sentence_of<Error>([&] { train::start_run(run, {.folder = folder / "run"}); }),
              HasSubstr("--lpips"));
  EXPECT_FALSE(std::filesystem::exists(folder / "run/run.json"));
}

TEST(NvsTraining, ThePerceptualLossBeginsAtItsStep) {
  const testing::RandomAlexNet net;
  const std::vector<Stage> stages = {{.size = {32, 32}, .inputs = 2, .targets = 1, .scenes = 1}};
  const auto task_with = [&](const LossOptions& loss, std::optional<double> of_stage = {}) {
    at::manual_seed(3);
    TaskOptions options;
    options.stages = stages;
    options.stages[0].perceptual = of_stage;
    options.accumulate = 2;
    options.loss = loss;
    const auto source = std::make_shared<data::ViewSource>(data::SceneSourceConfig(), data::PhotoConfig(),
                                                           data::FrameChoice::given, data::ScenePart::kTrain);
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
  // A stage may have a weight of its own.
  EXPECT_NEAR(task_with(twice, 0.5)->loss(2).item<double>() - plain->loss(2).item<double>(), more, 1e-5);
  EXPECT_EQ(task_with(twice, 0)->loss(2).item<float>(), plain->loss(2).item<float>());
}

TEST(NvsTraining, APerceptualLossThatCannotBeginIsRefusedAtTheStart) {
  TrainingRun run = toy_run();
  run.loss = {.perceptual = 1, .perceptual_from = 3, .lpips = "weights"};
  EXPECT_SENTENCE(run.check(),
                  "stage 2: a perceptual loss is for pictures of at least 32 pixels, but size is 24");
  run.stages[1].size = {32, 32};
  EXPECT_NO_THROW(run.check());  // the first stage, of 16 pixels, is over by then
  run.loss.perceptual_from = -1;
  EXPECT_SENTENCE(run.check(), "perceptual_from is -1, expected 0 to");
  run.loss = {.perceptual_from = 3};
  EXPECT_SENTENCE(run.check(), "perceptual_from is 3, but there is no perceptual loss");
}

}  // namespace
}  // namespace lact::tasks::nvs
