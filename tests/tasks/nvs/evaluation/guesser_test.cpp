#include "lact/tasks/nvs/evaluation/guesser.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lact/io/gaussian_ply.h"
#include "lact/tasks/nvs/evaluation/view_scores.h"
#include "support/ball_of_gaussians.h"
#include "support/temporary_folder.h"
#include "support/tiny_nvs.h"

namespace lact::tasks::nvs {
namespace {

using lact::testing::ball_of_gaussians;

/// A capture of Gaussians, and the Gaussians.
class GuesserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    lact::testing::write_photos(folder_ / "photos", lact::testing::photograph(gaussians_, 10, 16, 24));
    io::write_gaussians(folder_ / "good.ply", gaussians_);
    ops::Gaussians moved = gaussians_;
    moved.means = moved.means + 0.2;
    io::write_gaussians(folder_ / "moved.ply", moved);
    data::TestOptions options;
    options.height = 16;
    options.width = 24;
    options.counts = {2, 4};
    cases_ = data::photo_cases({folder_ / "photos"}, {}, options);
  }
  const ops::Gaussians gaussians_ = ball_of_gaussians();
  lact::testing::TemporaryFolder folder_;
  std::vector<data::TestCase> cases_;
};

TEST_F(GuesserTest, GaussiansAreAskedOnceAndModelsForEveryNumberOfViews) {
  std::vector<std::string> sheets;
  ViewScoresOptions options;
  int64_t last = 0, all = 0;
  options.on_progress = [&](int64_t done, int64_t total, const std::string&) { last = done, all = total; };
  const auto scores =
      guesser_scores({guesser_of(NamedNvs{"lact", lact::testing::make_nvs(lact::testing::tiny_nvs(), 3)}),
                      guesser_of_gaussians("good", folder_ / "good.ply"),
                      guesser_of_gaussians("moved", folder_ / "moved.ply")},
                     cases_, options);
  ASSERT_EQ(scores.size(), 4u);
  EXPECT_EQ(last, all);
  EXPECT_EQ(scores[1].inputs, 4);
  EXPECT_EQ(scores[2].model, "good");
  EXPECT_EQ(scores[2].inputs, 0);
  // Photos are rounded to bytes.
  EXPECT_GT(scores[2].images.psnr, 45);
  EXPECT_LT(scores[3].images.psnr, scores[2].images.psnr - 10);
  EXPECT_GT(scores[2].reconstruct_seconds, 0);
  EXPECT_GT(scores[2].render_seconds, 0);
  // Plots are against the number of views.
  EXPECT_EQ(view_psnr_plot(summarize(scores), scores[0].group).series.size(), 1u);
}

TEST_F(GuesserTest, GaussiansGuessWhereTooFewPhotosAreThereToRead) {
  data::TestOptions options;
  options.height = 17;
  options.width = 23;
  options.counts = {64};
  const auto cases = data::photo_cases({folder_ / "photos"}, {}, options);
  const auto scores = guesser_scores({guesser_of_gaussians("good", folder_ / "good.ply")}, cases);
  ASSERT_EQ(scores.size(), 1u);
  EXPECT_GT(scores[0].images.psnr, 20);
}

}  // namespace
}  // namespace lact::tasks::nvs
