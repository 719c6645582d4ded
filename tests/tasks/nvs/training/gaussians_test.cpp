// Training models that predict Gaussians: the same task, run and evaluation as for image heads.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lact/models/nvs/folder.h"
#include "lact/models/nvs/presets.h"
#include "lact/tasks/nvs/evaluation/view_scores.h"
#include "lact/tasks/nvs/training/run.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::tasks::nvs {
namespace {

using TrainingRun = Run;  // inside of a TEST, Run is a method of googletest's
using lact::testing::TemporaryFolder;

models::NvsConfig toy_lact() {
  models::NvsConfig config;
  config.patch_size = 4;
  config.model_dim = 16;
  config.num_layers = 1;
  config.attention = models::nvs_attention(2);
  config.lact = models::nvs_memory(1);
  config.feed_forward.hidden_dim = 32;
  return config;
}

models::NvsConfig toy_gaussians(int64_t virtual_views = 0) {
  models::NvsConfig config = toy_lact();
  config.head = models::NvsHead::gaussians;
  config.gaussians.virtual_views = virtual_views;
  config.gaussians.scale_bias = -1.5;
  return config;
}

models::NvsConfig toy_long_lrm() {
  models::NvsConfig config = models::nvs_long_lrm_tiny();
  config.patch_size = 4;
  config.model_dim = 16;
  config.num_layers = 2;
  config.mixer = models::MixerPattern::parse("1 mamba2_block : 1 full");
  config.feed_forward.hidden_dim = 32;
  config.long_lrm.merge_at = 1;
  config.long_lrm.merged_dim = 32;
  config.long_lrm.mamba2.state_dim = 8;
  config.long_lrm.mamba2.head_dim = 8;
  config.gaussians.scale_bias = -1.5;
  return config;
}

TrainingRun toy_run(const models::NvsConfig& model, int64_t steps) {
  TrainingRun run;
  run.model = model;
  run.precision = ops::Precision::f32;
  run.stages = {{.steps = 0, .size = {16, 16}, .inputs = 2, .targets = 1, .scenes = 1}};
  run.training.steps = steps;
  run.training.rate = 1e-2;
  run.training.warmup = 1;
  run.training.validate_every = steps;
  run.training.save_every = steps;
  run.training.log_every = 1;
  run.valid_scenes = 4;
  return run;
}

double mean_loss(train::Task& task, int64_t batches) {
  at::NoGradGuard no_grad;
  double sum = 0;
  for (int64_t batch = 0; batch < batches; ++batch) sum += task.loss(batch).item<double>();
  return sum / double(batches);
}

class LearnsGaussians : public ::testing::TestWithParam<std::string> {};

TEST_P(LearnsGaussians, ToShowScenesBetter) {
  TemporaryFolder folder;
  const models::NvsConfig config = GetParam() == "long_lrm"  ? toy_long_lrm()
                                   : GetParam() == "virtual" ? toy_gaussians(1)
                                                             : toy_gaussians();
  TrainingRun run = toy_run(config, 40);
  const double before = mean_loss(*run.make_task("", ""), 6);
  const auto result = train::start_run(run, {.folder = folder / "run"});
  EXPECT_TRUE(result.finished);
  EXPECT_TRUE(std::isfinite(result.validation.at("psnr")));
  const double after = mean_loss(*run.make_task("", folder / "run"), 6);
  EXPECT_LT(after, 0.8 * before);
  // A folder of the run is a model like any other.
  const auto model = models::load_nvs(folder / "run");
  EXPECT_EQ(model->config(), config);
  const data::TestOptions test = {.height = 16, .width = 16, .counts = {2}, .targets = 1};
  const auto scores =
      view_scores({{"gaussians", model, data::FrameChoice::object}}, data::procedural_cases(1, test));
  ASSERT_EQ(scores.size(), 1u);
  EXPECT_GT(scores[0].images.psnr, 3);
}

INSTANTIATE_TEST_SUITE_P(All, LearnsGaussians, ::testing::Values("inputs", "virtual", "long_lrm"));

TEST(GaussianTraining, BeginsWithTheWeightsOfAnImageHead) {
  TemporaryFolder folder;
  at::manual_seed(1);
  const auto image = models::make_view_model(toy_lact());
  models::save_nvs(folder / "image", *image);
  TrainingRun run = toy_run(toy_gaussians(), 1);
  const auto made = run.make_model(folder / "image");
  EXPECT_EQ(made->config(), toy_gaussians());
  EXPECT_TRUE(made->named_parameters()["input.weight"].equal(image->named_parameters()["input.weight"]));
  run.model.feed_forward.hidden_dim = 48;
  EXPECT_SENTENCE(run.make_model(folder / "image"), "only head and gaussians may differ");
}

TEST(GaussianTraining, OpacityIsPartOfTheLossIfAskedFor) {
  TrainingRun run = toy_run(toy_gaussians(), 2);
  const double plain = run.make_task("", "")->loss(0).item<double>();
  run.loss.opacity = 10;
  const auto task = run.make_task("", "");
  const double with = task->loss(0).item<double>();
  EXPECT_GT(with, plain + 10 * 0.01);
  EXPECT_LT(with, plain + 10);
  EXPECT_NE(task->loss_text(with).find("loss"), std::string::npos);
  run.model = toy_lact();
  EXPECT_SENTENCE(run.check(), "opacity is 10, but it is of Gaussians, and the model's head is image");
}

TEST(GaussianTraining, TokensAreThoseThatTheModelSees) {
  TrainingRun run = toy_run(toy_gaussians(), 2);
  EXPECT_EQ(run.make_task("", "")->tokens_of_batch(0), 2 * 16);
  run.model = toy_gaussians(1);
  EXPECT_EQ(run.make_task("", "")->tokens_of_batch(0), 3 * 16);
  run.stages[0].targets = 4;
  EXPECT_EQ(run.make_task("", "")->tokens_of_batch(0), 3 * 16);
}

TEST(GaussianTraining, MergedPatchesHaveToFit) {
  TrainingRun run = toy_run(toy_long_lrm(), 2);
  run.stages[0].size = {20, 16};
  EXPECT_SENTENCE(run.check(), "size 20x16 does not divide into patches of 8 pixels");
}

}  // namespace
}  // namespace lact::tasks::nvs
