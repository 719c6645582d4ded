// Gaussians in `lact nvs render`, `view`, `eval` and `export` as a user runs them.
#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <filesystem>

#include "lact/io/gaussian_ply.h"
#include "lact/io/image.h"
#include "lact/models/nvs/folder.h"
#include "support/ball_of_gaussians.h"
#include "support/program.h"
#include "support/tiny_nvs.h"

namespace lact::cli {
namespace {

namespace fs = std::filesystem;
using lact::testing::expect_mistake;
using lact::testing::interrupt_program;
using lact::testing::run_program;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class GaussiansProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    photos_ = testing::photograph(gaussians_, 9, 15, 22);
    testing::write_photos(path("photos"), photos_);
    io::write_gaussians(path("scene.ply"), gaussians_);
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string quoted(const std::string& name) const { return "'" + path(name) + "'"; }
  Json render(const std::string& words) const {
    const auto outcome = run_program("nvs render " + quoted("scene.ply") + " --json " + words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  }
  at::Tensor frame(const std::string& folder, int index) const {
    return io::read_image(path(fmt::format("{}/frame-{:05}.png", folder, index)));
  }

  const ops::Gaussians gaussians_ = testing::ball_of_gaussians();
  data::PosedImages photos_;
  testing::TemporaryFolder folder_;
};

TEST_F(GaussiansProgram, RendersTheViewsOfTheirPhotosInAnySize) {
  const auto summary = render("--photos " + quoted("photos") + " --views -o " + quoted("views"));
  EXPECT_EQ(summary["frames"], 9);
  EXPECT_EQ(summary["height"], 15);
  for (int i = 0; i < 9; ++i) {
    const at::Tensor truth = io::to_bytes(photos_.images[size_t(i)]).to(at::kInt);
    EXPECT_LE((frame("views", i).to(at::kInt) - truth).abs().max().item<int>(), 1) << i;
  }
  render("--camera " + quoted("photos/opencv_cameras.json") + " -o " + quoted("path"));
  EXPECT_TRUE(frame("path", 4).equal(frame("views", 4)));
  render("--photos " + quoted("photos") + " --interpolate --between 1 --size 9x13 -o " + quoted("between"));
  EXPECT_EQ(frame("between", 16).sizes(), at::IntArrayRef({9, 13, 3}));
}

TEST_F(GaussiansProgram, GoesAroundThemWithoutPhotosOnAnyBackground) {
  EXPECT_EQ(render("--turntable --frames 4 --size 24 -o " + quoted("around"))["frames"], 4);
  EXPECT_FALSE(frame("around", 0).equal(frame("around", 1)));
  render("--turntable --frames 4 --size 24 --background black -o " + quoted("black"));
  render("--turntable --frames 4 --size 24 --background 0.2,1,0 -o " + quoted("green"));
  const at::Tensor white = frame("around", 0).to(at::kFloat), black = frame("black", 0).to(at::kFloat);
  const at::Tensor seen = white - black;  // of the background
  EXPECT_GT(seen[0][0].min().item<float>(), 128);
  EXPECT_LT(seen[12][12].max().item<float>(), 64);
  const at::Tensor expected = black + seen * at::tensor({0.2F, 1.F, 0.F});
  const at::Tensor within = white.lt(255).to(at::kFloat);  // brighter than white was cut off
  const at::Tensor error = (frame("green", 0).to(at::kFloat) - expected).abs() * within;
  EXPECT_LE(error.max().item<float>(), 1.5);
  EXPECT_GT(within.mean().item<float>(), 0.5);
  render("--turntable --frames 4 --size 24 --up x -o " + quoted("lying"));
  EXPECT_FALSE(frame("lying", 0).equal(frame("around", 0)));
}

TEST_F(GaussiansProgram, MistakesAreSentences) {
  const std::string render = "nvs render " + quoted("scene.ply") + " -o " + quoted("out");
  expect_mistake(render + " --views", "Gaussians come without cameras, so --views needs --photos");
  expect_mistake(render + " --turntable --background red", "--background: red is no colour");
  expect_mistake(render + " --turntable --background 1,2,0", "expected white, black or R,G,B");
  expect_mistake(render + " --turntable --up w", "w is not an axis");
  expect_mistake(render + " --turntable --up z --photos " + quoted("photos"), "--photos");
  expect_mistake(render + " --turntable --model x", "--model is for scene files of a model");
  expect_mistake(render + " --turntable --axes opencv", "--photos");
  expect_mistake("nvs render scene.fw --turntable --background black -o " + quoted("out"),
                 "--background is for Gaussians");
  testing::write_file(path("bad.ply"), "ply\nformat ascii 1.0\nelement vertex 1\nend_header\n");
  for (const char* verb : {"render --turntable -o out ", "view --port 0 ", "export -o out.ply "})
    expect_mistake(std::string("nvs ") + verb + quoted("bad.ply"), "vertices have no property x");
  EXPECT_FALSE(fs::exists(path("out")));
}

TEST_F(GaussiansProgram, TheViewerShowsThem) {
  const auto outcome =
      interrupt_program("nvs view --port 0 --size 33 " + quoted("scene.ply"), "grep -q viewer: $out");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("viewer: http://127.0.0.1:"));
}

TEST_F(GaussiansProgram, AreScoredBesideModels) {
  models::save_nvs(path("model"), *testing::make_nvs(testing::tiny_nvs(), 3));
  ops::Gaussians moved = gaussians_;
  moved.means = moved.means + 0.2;
  io::write_gaussians(path("moved.ply"), moved);
  const std::string command = "--threads 1 nvs eval --photos " + quoted("photos") + " --splats " +
                              quoted("scene.ply") + " --splats worse=" + quoted("moved.ply");
  const auto alone = run_program(command + " -o " + quoted("out"));
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_THAT(
      alone.out,
      HasSubstr("photos, 22 x 15 pixels\nmodel      views  scenes   PSNR    SSIM  read, s  frames/s"));
  EXPECT_THAT(alone.out, HasSubstr("\nworse          -       1"));
  EXPECT_TRUE(fs::exists(path("out/photos.png")));
  EXPECT_THAT(testing::read_file(path("out/report.html")), HasSubstr("then what was rendered."));
  const auto both = run_program(command + " --json --model " + quoted("model") + " --size 16x24 --counts 2");
  ASSERT_EQ(both.exit_code, 0) << both.err;
  const auto json = Json::parse(both.out);
  ASSERT_EQ(json["means"].size(), 3u);
  EXPECT_EQ(json["models"][1]["mixer"], "gaussians");
  EXPECT_EQ(json["models"][1]["parameters"], 60 * (3 + 4 + 3 + 1 + 12));
  for (const auto& row : json["means"]) {
    EXPECT_GT(row["frames_per_second"], 0);
    EXPECT_GT(row["reconstruct_seconds"], 0);
  }
  EXPECT_GT(json["means"][1]["psnr"].get<double>(), 3 + json["means"][2]["psnr"].get<double>());
  expect_mistake("nvs eval --splats " + quoted("scene.ply"), "--splats are Gaussians of one capture");
  expect_mistake(command + " --scenes 1", "--splats are Gaussians of one capture");
}

TEST_F(GaussiansProgram, ArePackedAndUnpacked) {
  const auto packed =
      run_program("nvs export " + quoted("scene.ply") + " -o " + quoted("small.compressed.ply"));
  ASSERT_EQ(packed.exit_code, 0) << packed.err;
  EXPECT_THAT(packed.out, HasSubstr("small.compressed.ply: 60 Gaussians of degree 1"));
  EXPECT_LT(fs::file_size(path("small.compressed.ply")), fs::file_size(path("scene.ply")) / 2);
  ASSERT_EQ(
      run_program("nvs export " + quoted("small.compressed.ply") + " -o " + quoted("again.ply")).exit_code,
      0);
  EXPECT_EQ(io::read_gaussians(path("again.ply")).size(), 60);
  const auto scores = run_program("--threads 1 nvs eval --json --photos " + quoted("photos") + " --splats " +
                                  quoted("small.compressed.ply"));
  ASSERT_EQ(scores.exit_code, 0) << scores.err;
  EXPECT_GT(Json::parse(scores.out)["means"][0]["psnr"], 30);
  expect_mistake("nvs export " + quoted("scene.ply") + " -o " + quoted("folder"), "ends with .ply");
  expect_mistake("nvs export " + quoted("scene.ply") + " --type f32 -o " + quoted("b.ply"),
                 "--type is for models");
}

}  // namespace
}  // namespace lact::cli
