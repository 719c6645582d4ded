// A model is tuned to the photos of one capture.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "lact/io/image.h"
#include "lact/models/nvs/folder.h"
#include "lact/tasks/nvs/fitting/results.h"
#include "lact/tasks/nvs/session.h"
#include "support/errors.h"
#include "support/photo_folder.h"
#include "support/tiny_nvs.h"

namespace lact::tasks::nvs {
namespace {

namespace fs = std::filesystem;
using lact::testing::make_nvs;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_nvs;
using lact::testing::write_photo_folder;

class Fitting : public ::testing::Test {
 protected:
  Fitting() {
    photos_ = write_photo_folder(folder_ / "photos", 10, 12, 16);
    models::save_nvs(folder_ / "model", *make_nvs(tiny_nvs()));
  }

  FitRun run(int64_t steps) const {
    FitRun run;
    run.photos.photos = {folder_ / "photos"};
    run.photos.photo_every = 4;
    run.model = tiny_nvs();
    run.initial_model = folder_ / "model";
    run.precision = ops::Precision::f32;
    run.stages[0].size = {12, 16};
    run.stages[0].inputs = {2, 3};
    run.stages[0].targets = 2;
    run.training.steps = steps;
    run.training.minutes = 60;
    run.training.warmup = 2;
    run.training.log_every = 1;
    return run;
  }

  TemporaryFolder folder_;
  data::PosedImages photos_;
};

TEST_F(Fitting, EveryNthPhotoIsHeldOutAndTheOthersAreRead) {
  const HeldOut photos = held_out_photos(run(1).capture(), run(1).held_out());
  EXPECT_EQ(photos.targets, (std::vector<int64_t>{0, 4, 8}));
  EXPECT_EQ(photos.inputs, (std::vector<int64_t>{1, 2, 3, 5, 6, 7, 9}));
  EXPECT_LT((photos.truth.images[1] - photos_.images[4]).abs().max().item<float>(), 0.51f / 255);
  HeldOutOptions some = run(1).held_out();
  some.views = 3;
  EXPECT_EQ(held_out_photos(run(1).capture(), some).inputs.size(), 3u);
  // Seen as the scene file sees them.
  const Loaded nvs = load(folder_ / "model", {ops::Precision::f32});
  const auto scene = read_photos(nvs, run(1).capture(), photos.inputs, {{12, 16}, data::FrameChoice::object});
  EXPECT_TRUE(
      at::allclose(scene.camera_to_world, data::camera_to_world_of(photos.shown.cameras), 1e-5, 1e-6));
}

TEST_F(Fitting, LearnsTheCaptureAndLeavesWhatPeopleLookAt) {
  const std::string folder = folder_ / "fit";
  const auto trained = train::start_run(run(150), {.folder = folder});
  EXPECT_TRUE(trained.finished);
  const auto results = write_fit_results(train::read_run<FitRun>(folder), folder);
  EXPECT_EQ(results.photos, 10);
  EXPECT_EQ(results.held_out, 3);
  EXPECT_GT(results.after.psnr, results.before.psnr + 3);
  EXPECT_NEAR(results.before.psnr, score_held_out(run(1), folder_ / "model").psnr, 1e-4);
  EXPECT_NEAR(results.after.psnr, trained.validation.at("psnr"), 1e-4);
  // Rows of truth, fitted, before.
  EXPECT_EQ(io::read_image(results.sheet).sizes(), (std::vector<int64_t>{3 * 12 + 2 * 2, 3 * 16 + 2 * 2, 3}));
  EXPECT_TRUE(fs::exists(results.curve));
  EXPECT_TRUE(fs::exists(results.video));
  // The scene file needs nothing but itself and the folder.
  const Session scene = Session::open(load_for_scene(results.scene, ""), results.scene);
  EXPECT_EQ(scene.cameras().size(), 7u);
}

TEST_F(Fitting, GoesOnWhereItStopped) {
  FitRun settings = run(12);
  settings.training.rate_decay = train::RateDecay::constant;  // else the clock decides over the rate
  train::start_run(settings, {.folder = folder_ / "whole"});
  EXPECT_FALSE(train::start_run(settings, {.folder = folder_ / "cut", .stop_after = 5}).finished);
  EXPECT_TRUE(train::resume_run<FitRun>({.folder = folder_ / "cut"}).finished);
  EXPECT_EQ(models::fingerprint(*models::load_nvs(folder_ / "cut")),
            models::fingerprint(*models::load_nvs(folder_ / "whole")));
}

TEST_F(Fitting, SizesHaveTheShapeOfThePhotos) {
  const data::Capture capture = run(1).capture();
  EXPECT_EQ(size_for_photos(capture, 96, 8), (io::ImageSize{72, 96}));
  EXPECT_EQ(size_for_photos(capture, 20, 8), (io::ImageSize{16, 24}));
  EXPECT_EQ(size_for_photos(capture, 1, 8), (io::ImageSize{8, 8}));
}

TEST_F(Fitting, WhatCannotWorkIsSaid) {
  FitRun settings = run(1);
  settings.photos.photo_every = 0;
  EXPECT_SENTENCE(settings.check(), "some photos are held out");
  settings = run(1);
  settings.stages[0].inputs = 7;
  EXPECT_SENTENCE(train::start_run(settings, {.folder = folder_ / "fit"}),
                  "has 7 photos that are not held out, but 7 input and 2 target views are asked for");
  write_photo_folder(folder_ / "few", 2, 12, 16);
  settings.photos.photos = {folder_ / "few"};
  EXPECT_SENTENCE(train::start_run(settings, {.folder = folder_ / "fit"}), "has 2 photos, but at least 3");
  EXPECT_FALSE(fs::exists(folder_ / "fit/run.json"));
}

}  // namespace
}  // namespace lact::tasks::nvs
