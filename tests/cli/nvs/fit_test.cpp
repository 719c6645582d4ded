// Training on photos, and fitting a model to one capture, as a user runs them.
#include <nlohmann/json.hpp>

#include <filesystem>

#include "lact/models/nvs/folder.h"
#include "support/photo_folder.h"
#include "support/program.h"
#include "support/tiny_nvs.h"

namespace lact::cli {
namespace {

namespace fs = std::filesystem;
using lact::testing::expect_mistake;
using lact::testing::make_nvs;
using lact::testing::Outcome;
using lact::testing::read_file;
using lact::testing::run_program;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_nvs;
using lact::testing::write_photo_folder;
using ::testing::HasSubstr;

class PhotosProgram : public ::testing::Test {
 protected:
  PhotosProgram() {
    models::save_nvs(path("model"), *make_nvs(tiny_nvs()));
    for (const char* name : {"captures/a", "captures/b"}) write_photo_folder(path(name), 9, 12, 16);
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string quoted(const std::string& name) const { return "'" + path(name) + "'"; }
  std::string fit_words(const std::string& more) const {
    return "--threads 1 nvs fit " + quoted("captures/a") + " --model " + quoted("model") +
           " --longer-side 16 --inputs 2-3 --targets 2 --steps 8 --warmup 1 -o " + quoted("fit") + " " + more;
  }
  std::string train_words(const std::string& more,
                          const std::string& views = "--size 12x16 --inputs 2-3 --targets 2") const {
    return "--threads 1 nvs train --init " + quoted("model") + " " + views +
           " --batch 1 --steps 3 --valid-scenes 2 -o " + quoted("run") + " " + more;
  }
  TemporaryFolder folder_;
};

TEST_F(PhotosProgram, AModelIsFittedToACapture) {
  const Outcome outcome = run_program(fit_words("--json"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("before the fit: PSNR"));
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["photos"], 9);
  EXPECT_EQ(json["held_out"], 2);
  EXPECT_EQ(json["steps"], 8);
  for (const char* file : {"scene", "video", "sheet", "curve"})
    EXPECT_TRUE(fs::exists(json[file].get<std::string>())) << file;
  EXPECT_EQ(*models::trained_size(path("fit")), (io::ImageSize{12, 16}));
  const Outcome rendered =
      run_program("nvs render " + quoted("fit/scene.fw") + " --turntable --frames 2 -o " + quoted("frames"));
  EXPECT_EQ(rendered.exit_code, 0) << rendered.err;
  expect_mistake(fit_words(""), "holds a run already");
}

TEST_F(PhotosProgram, AFitGoesOn) {
  const Outcome stopped = run_program(fit_words("--stop-after 3"));
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("go on with: lact nvs fit --resume"));
  EXPECT_FALSE(fs::exists(path("fit/scene.fw")));
  expect_mistake("nvs fit --resume " + quoted("fit") + " --rate 1", "--rate cannot be changed");
  const Outcome outcome = run_program("--threads 1 nvs fit --resume " + quoted("fit"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("8 steps"));
  EXPECT_TRUE(fs::exists(path("fit/scene.fw")));
}

TEST_F(PhotosProgram, CapturesAreTrainedOn) {
  const Outcome outcome = run_program(train_words("--photos " + quoted("captures")));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_TRUE(json.contains("valid_psnr"));
  EXPECT_LT(json["valid_share_waited_for_pictures"], 1);
  EXPECT_EQ(models::read_nvs_training(path("run")).frame, "mean_pose");
  const auto run = nlohmann::json::parse(read_file(path("run/run.json")));
  EXPECT_EQ(run["photos"]["photo_share"], 1.0);
  EXPECT_EQ(run["stages"][0]["size"], "12x16");
}

TEST_F(PhotosProgram, WhatCannotWorkIsSaid) {
  expect_mistake(train_words("--photos " + quoted("captures/a")), "all 1 captures are held out");
  expect_mistake(train_words("--photos " + quoted("captures/a") + " --photo-holdout 0"),
                 "no capture is held out, so there is none to validate on");
  expect_mistake(train_words("--photos " + quoted("captures") + " --near 0.5"), "near is 0.5");
  expect_mistake(train_words("--photos " + quoted("captures") + " --meshes " + quoted("captures")),
                 "--photo-share says how many of the scenes are photos");
  expect_mistake(train_words("--stretch 5"), "--stretch");
  expect_mistake(train_words("--photos " + quoted("captures"), "--size 12x16 --inputs 8 --targets 2"),
                 "but 8 input and 2 target");
  expect_mistake(train_words("--photos " + quoted("captures"), "--size 12x18"),
                 "size 12x18 does not divide into patches of 4");
  expect_mistake("nvs fit -o " + quoted("fit"), "PHOTOS are missing");
  expect_mistake("nvs fit " + quoted("captures/a"), "-o is missing");
  expect_mistake("nvs fit " + quoted("captures") + " -o " + quoted("fit"), "the folder holds no cameras");
  expect_mistake(fit_words("--size 10x16"), "--longer-side");
}

}  // namespace
}  // namespace lact::cli
