// Gaussians are optimised for the photos of a capture.
#include "lact/tasks/nvs/splatting/run.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "lact/io/gaussian_ply.h"
#include "lact/io/image.h"
#include "lact/tasks/nvs/gaussian_scene.h"
#include "lact/tasks/nvs/splatting/results.h"
#include "lact/train/run_folder.h"
#include "support/errors.h"
#include "support/photo_folder.h"

namespace lact::tasks::nvs {
namespace {

namespace fs = std::filesystem;
using lact::testing::TemporaryFolder;
using lact::testing::write_photo_folder;

class Splatting : public ::testing::TestWithParam<SplatStrategy> {
 protected:
  Splatting() { write_photo_folder(folder_ / "photos", 12, 24, 32); }

  SplatRun run(int64_t iterations) const {
    SplatRun run;
    run.photos = folder_ / "photos";
    run.height = 24;
    run.width = 32;
    run.photo_every = 4;
    run.iterations = iterations;
    run.log_every = 10;
    run.splats.strategy = GetParam();
    run.splats.random_points = 300;
    run.splats.most = 400;
    run.splats.mcmc.refine_every = run.splats.classic.refine_every = 10;
    return run;
  }
  SplatResult optimise(const SplatRun& run, const std::string& name, int64_t stop_after = 0) {
    return optimise_splats(run, {.ply = folder_ / name, .stop_after = stop_after});
  }
  TemporaryFolder folder_;
};

TEST_P(Splatting, LearnsTheCaptureAndLeavesWhatPeopleLookAt) {
  const SplatRun settings = run(300);
  const double before = optimise(run(1), "first.ply").scores.psnr;
  const SplatResult result = optimise(settings, "scene.ply");
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(result.steps, 300);
  EXPECT_EQ(result.held_out, 3);
  EXPECT_LE(result.gaussians, 400);
  EXPECT_GT(result.scores.psnr, before + 4);
  const ops::Gaussians made = io::read_gaussians(folder_ / "scene.ply");
  EXPECT_EQ(made.size(), result.gaussians);
  const HeldOut photos = settings.held_out(settings.capture());
  const GaussianScene scene(made, "made");
  std::vector<at::Tensor> drawn;
  for (const auto& camera : photos.truth.cameras) drawn.push_back(scene.picture(camera));
  EXPECT_NEAR(score_images(at::stack(drawn), at::stack(photos.truth.images)).psnr, result.scores.psnr, 1e-4);
  const SplatFiles files = write_splat_files(read_splat_run(folder_ / "scene.ply"), folder_ / "scene.ply");
  EXPECT_EQ(io::read_image(files.sheet).sizes(), (std::vector<int64_t>{3 * 24 + 2 * 2, 2 * 32 + 2, 3}));
  EXPECT_TRUE(fs::exists(files.curve));
  EXPECT_TRUE(fs::exists(files.video));
  EXPECT_SENTENCE(optimise(settings, "scene.ply"), "holds a run already");
}

TEST_P(Splatting, GoesOnWhereItStopped) {
  optimise(run(60), "whole.ply");
  EXPECT_FALSE(optimise(run(60), "cut.ply", 27).finished);
  EXPECT_FALSE(fs::exists(folder_ / "cut.ply"));
  const SplatResult rest =
      optimise_splats(read_splat_run(folder_ / "cut.ply"), {.ply = folder_ / "cut.ply", .resume = true});
  EXPECT_TRUE(rest.finished);
  EXPECT_EQ(lact::testing::read_file(folder_ / "cut.ply"), lact::testing::read_file(folder_ / "whole.ply"));
}

TEST_P(Splatting, GoesOnWithExposuresAndWithoutSomeGaussians) {
  const SplatRun plain = run(40);
  SplatRun settings = plain;
  settings.splats.dropout = 0.3;
  settings.splats.rates.exposure = 0.001;
  optimise(plain, "plain.ply");
  optimise(settings, "whole.ply");
  optimise(settings, "cut.ply", 23);
  optimise_splats(read_splat_run(folder_ / "cut.ply"), {.ply = folder_ / "cut.ply", .resume = true});
  const std::string whole = lact::testing::read_file(folder_ / "whole.ply");
  EXPECT_EQ(lact::testing::read_file(folder_ / "cut.ply"), whole);
  EXPECT_NE(lact::testing::read_file(folder_ / "plain.ply"), whole);
}

TEST_P(Splatting, TimeEndsIt) {
  SplatRun settings = run(1);
  settings.minutes = 1;
  double now = 0;
  const SplatResult result =
      optimise_splats(settings, {.ply = folder_ / "scene.ply", .clock = [&] { return now += 1; }});
  EXPECT_TRUE(result.finished);
  EXPECT_GT(result.steps, 5);
  EXPECT_LT(result.steps, 60);
}

TEST_P(Splatting, MistakesAreFoundBeforeAnythingIsWritten) {
  SplatRun settings = run(5);
  settings.points = folder_ / "none.ply";
  EXPECT_THROW(optimise(settings, "scene.ply"), Error);
  EXPECT_FALSE(fs::exists(run_folder_of(folder_ / "scene.ply")));
  settings = run(5);
  settings.splats.degree = 4;
  EXPECT_SENTENCE(optimise(settings, "scene.ply"), "degree is 4");
  EXPECT_SENTENCE(read_splat_run(folder_ / "scene.ply"), "scene.run");
}

INSTANTIATE_TEST_SUITE_P(Strategies, Splatting,
                         ::testing::Values(SplatStrategy::mcmc, SplatStrategy::classic));

}  // namespace
}  // namespace lact::tasks::nvs
