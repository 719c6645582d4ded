#include "lact/tasks/nvs/training/recipe.h"

#include <gtest/gtest.h>

#include "lact/models/nvs/presets.h"
#include "support/errors.h"
#include "support/places.h"
#include "support/temporary_folder.h"

namespace lact::tasks::nvs {
namespace {

using TrainingRun = Run;  // inside of a TEST, Run is a method of googletest's
using lact::testing::TemporaryFolder;
using lact::testing::write_file;

TrainingRun run_of(const std::string& name) {
  const std::string file = lact::testing::source_folder() + "/configs/recipes/" + name;
  TrainingRun run;
  apply_recipe(read_recipe(file), file, run);
  run.check();
  return run;
}

/// Of each size, in billions.
std::map<int64_t, double> tokens_by_width(const TrainingRun& run) {
  std::map<int64_t, double> tokens;
  for (const Stage& stage : run.stages)
    tokens[stage.size.width] += double(stage.steps * run.training.accumulate * stage.scenes) *
                                double(stage.inputs.most + stage.targets.most) *
                                double(stage.size.height / 8 * (stage.size.width / 8)) / 1e9;
  return tokens;
}

TEST(Recipe, ObjectsHaveThePapersTokens) {
  const TrainingRun run = run_of("nvs_objects.json");
  EXPECT_EQ(run.model, models::nvs_312m());
  const auto tokens = tokens_by_width(run);
  EXPECT_NEAR(tokens.at(256), 671, 1);
  EXPECT_NEAR(tokens.at(512), 587, 1);
  EXPECT_EQ(tokens.size(), 2u);
}

TEST(Recipe, ScenesHaveThePapersTokens) {
  const TrainingRun run = run_of("nvs_scenes.json");
  EXPECT_EQ(run.stages.front().size, (io::ImageSize{128, 128}));
  EXPECT_EQ(run.stages.back().size, (io::ImageSize{536, 960}));
  const auto tokens = tokens_by_width(run);
  EXPECT_NEAR(tokens.at(128), 1500 + 100, 2);  // squares, then 128 x 72
  for (const int64_t width : {256, 512, 960}) EXPECT_NEAR(tokens.at(width), 100, 1) << width;
  EXPECT_EQ(run.frame, data::FrameChoice::mean_pose);
  EXPECT_EQ(run.loss.perceptual_from, 5000);
}

TEST(Recipe, IsScaledAndSaysSo) {
  TrainingRun run = run_of("nvs_scenes.json");
  const TrainingRun whole = run;
  EXPECT_TRUE(scale_run(run, {}).empty());
  EXPECT_EQ(run.stages, whole.stages);
  const auto changes = scale_run(run, {.steps = 0.001, .batch = 1.0 / 64});
  run.check();
  EXPECT_EQ(run.training.steps, 223);
  EXPECT_EQ(run.training.warmup, 4);
  EXPECT_EQ(run.loss.perceptual_from, 5);
  EXPECT_EQ(run.stages[0].steps, 179);
  EXPECT_EQ(run.stages[1].steps, 11);
  EXPECT_EQ(*run.stages[1].warmup, 1);
  EXPECT_EQ(run.training.rate, whole.training.rate);
  EXPECT_EQ(run.training.accumulate, 1);
  EXPECT_EQ(run.stages[0].scenes, 8);
  EXPECT_EQ(run.stages[4].scenes, 1) << "8 of them a step, and at least one";
  const auto said = [&](const std::string& text) {
    return std::find(changes.begin(), changes.end(), text) != changes.end();
  };
  EXPECT_TRUE(said("steps: 223 instead of 222750"));
  EXPECT_TRUE(said("stage 1, scenes of a step: 8 instead of 512"));
  EXPECT_TRUE(said("stage 5, scenes of a step: 1 instead of 8"));
}

TEST(Recipe, WhatItSaysWrongIsNamed) {
  TemporaryFolder folder;
  const auto apply = [&](const std::string& text) {
    write_file(folder / "r.json", text);
    TrainingRun run;
    apply_recipe(read_recipe(folder / "r.json"), folder / "r.json", run);
  };
  apply(R"({"about": "nothing"})");
  EXPECT_SENTENCE(apply("[]"), "r.json: is no recipe");
  EXPECT_SENTENCE(apply(R"({"stepz": 3})"), "r.json: ");
  EXPECT_SENTENCE(apply(R"({"model": "lm_tiny"})"), "no view-synthesis model");
  EXPECT_SENTENCE(apply(R"({"stages": [{"size": "8y8"}]})"), "\"8y8\" is not a size");
  TrainingRun run = run_of("nvs_scenes.json");
  EXPECT_SENTENCE(scale_run(run, {.steps = 1e-6}), "too few for 5 stages");
}

}  // namespace
}  // namespace lact::tasks::nvs
