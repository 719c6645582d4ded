// `lact nvs eval` as a user runs it.
#include <nlohmann/json.hpp>

#include <filesystem>

#include "lact/io/image.h"
#include "lact/models/nvs/folder.h"
#include "support/photo_folder.h"
#include "support/program.h"
#include "support/random_alexnet.h"
#include "support/shared_data.h"
#include "support/tiny_nvs.h"

namespace lact::cli {
namespace {

namespace fs = std::filesystem;
using lact::testing::expect_mistake;
using lact::testing::read_file;
using lact::testing::run_program;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class NvsEvalProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    models::save_nvs(path("lact"), *testing::make_nvs(testing::tiny_nvs(), 3));
    models::save_nvs(path("full"), *testing::make_nvs(testing::tiny_nvs(models::MixerKind::full), 4));
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string quoted(const std::string& name) const { return "'" + path(name) + "'"; }
  /// Both models, on pictures of 16 x 24 pixels.
  std::string models() const {
    return "--threads 1 nvs eval -m " + quoted("lact") + " -m baseline=" + quoted("full") +
           " --size 16x24 --targets 2 ";
  }

  testing::TemporaryFolder folder_;
};

TEST_F(NvsEvalProgram, ScoresModelsOnEveryKindOfScene) {
  testing::write_photo_folder(path("fox"), 10, 16, 24);
  for (const char* name : {"meshes/a.obj", "meshes/b.obj"}) {
    fs::create_directories(path("meshes"));
    testing::write_file(path(name), "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\n");
  }
  const auto outcome = run_program(models() + "--scenes 2 --counts 1,2,32 --meshes " + quoted("meshes") +
                                   " --y-up a. --holdout-names b.obj --photos " + quoted("fox") +
                                   " --json -o " + quoted("out"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("LPIPS is left out"));
  EXPECT_THAT(outcome.err, HasSubstr("fox: too few views to read 32 of them"));
  const auto json = Json::parse(outcome.out);
  EXPECT_EQ(json["height"], 16);
  EXPECT_EQ(json["width"], 24);
  EXPECT_EQ(json["models"][0]["name"], "lact");
  EXPECT_EQ(json["models"][1]["mixer"], "full");
  // Of both models: three counts of the two kinds of rendered scenes, two of the photos.
  EXPECT_EQ(json["means"].size(), size_t(2 * (3 + 3 + 2)));
  EXPECT_EQ(json["scores"].size(), size_t(2 * (3 * 2 + 3 + 2)));
  for (const auto& score : json["scores"]) {
    EXPECT_GT(score["psnr"], 1);
    EXPECT_LT(score["ssim"], 1);
    EXPECT_GT(score["reconstruct_seconds"], 0);
    EXPECT_FALSE(score.contains("lpips"));
  }
  EXPECT_EQ(Json::parse(read_file(path("out/views.json"))), json);
  for (const char* file : {"views_psnr_fox.svg", "views_psnr_procedural.svg", "views_psnr_meshes.svg",
                           "views_reconstruct.svg", "views_render.svg"})
    EXPECT_THAT(read_file(path("out/") + file), HasSubstr("<svg")) << file;
  const std::string report = read_file(path("out/report.html"));
  EXPECT_THAT(report, HasSubstr("<h2>procedural</h2>"));
  EXPECT_THAT(report, HasSubstr("data:image/jpeg;base64,"));
  EXPECT_THAT(report, HasSubstr("LPIPS is left out"));
  // Two targets of two models; the truth and a column for each count.
  EXPECT_EQ(io::read_image_size(path("out/fox.png")), (io::ImageSize{4 * 18 - 2, 3 * 26 - 2}));
  EXPECT_EQ(io::read_image_size(path("out/procedural_1.png")), (io::ImageSize{4 * 18 - 2, 4 * 26 - 2}));
  EXPECT_TRUE(fs::exists(path("out/meshes_b.obj.png")));
}

TEST_F(NvsEvalProgram, PrintsATableAndChartsAndTheSameNumbersAgain) {
  const std::string command = models() + "--scenes 1 --counts 1,2";
  const auto outcome = run_program(command);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(
      outcome.out,
      HasSubstr("procedural, 24 x 16 pixels\nmodel     views  scenes   PSNR    SSIM  read, s  frames/s\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\nbaseline      2       1"));
  EXPECT_THAT(outcome.out, HasSubstr("PSNR of unseen views, dB"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("LPIPS")));
  const auto psnr = [&] { return Json::parse(run_program(command + " --json").out)["means"][0]["psnr"]; };
  EXPECT_EQ(psnr(), psnr());
}

TEST_F(NvsEvalProgram, LpipsWhereItsWeightsAreGiven) {
  const std::string weights = testing::shared_data("lpips");
  if (weights.empty()) GTEST_SKIP() << "the weights of LPIPS are not on this machine";
  const auto outcome = run_program("--threads 1 nvs eval -m " + quoted("lact") +
                                   " --size 32 --targets 1 --scenes 1 --counts 2 --json --lpips '" + weights +
                                   "' --network alex");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = Json::parse(outcome.out);
  EXPECT_EQ(json["lpips_network"], "alex");
  EXPECT_GT(json["means"][0]["lpips"], 0);
}

TEST_F(NvsEvalProgram, AProtocolShowsEverySceneAndTheirMean) {
  const testing::RandomAlexNet net;
  testing::write_photo_folder(path("fox"), 10, 32, 32);
  testing::write_photo_folder(path("bust"), 9, 32, 32, 7);
  const std::string command =
      "--threads 1 nvs eval -m " + quoted("lact") + " --size 32 --protocol dl3dv --counts 2,4 --photos " +
      quoted("fox") + " --photos " + quoted("bust") + " --network alex --lpips '" + (net.folder / "") + "'";
  const auto outcome = run_program(command + " -o " + quoted("out"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("dl3dv, 32 x 32 pixels\nscene  model  views "));
  EXPECT_THAT(outcome.out, HasSubstr("\nbust    lact      4  "));
  EXPECT_THAT(outcome.out, HasSubstr("\nmean over the scenes\nmodel  views  scenes"));
  const auto json = Json::parse(run_program(command + " --json").out);
  EXPECT_EQ(json["protocol"], "dl3dv");
  ASSERT_EQ(json["means"].size(), 2u);
  ASSERT_EQ(json["scores"].size(), 4u);
  for (const char* score : {"psnr", "ssim", "lpips"}) {
    const double fox = json["scores"][1][score], bust = json["scores"][3][score];
    EXPECT_NEAR(json["means"][1][score].get<double>(), (fox + bust) / 2, 1e-6) << score;
  }
  EXPECT_EQ(json["means"][1]["scenes"], 2);
  EXPECT_THAT(read_file(path("out/report.html")), HasSubstr(">scene</th>"));
  const auto objects = Json::parse(run_program("--threads 1 nvs eval -m " + quoted("lact") +
                                               " --size 16 --protocol gso --scenes 1 --targets 2 --json")
                                       .out);
  EXPECT_EQ(objects["selection"], "random");
  EXPECT_EQ(objects["means"].size(), 6u);
  EXPECT_EQ(objects["means"][5]["inputs"], 48);
}

TEST_F(NvsEvalProgram, MistakesAreSentences) {
  const std::string alone = "-q nvs eval -m " + quoted("lact") + " ";
  expect_mistake(alone + "-m " + quoted("lact") + " --size 16", "both called lact");
  expect_mistake(alone + "--size 18", "18");
  expect_mistake(alone + "--size 16 --selection nearest", "nearest");
  expect_mistake(alone + "--size 16 --frame world", "expected one of given, mean_pose, object");
  expect_mistake(alone + "--size 16 --network alex", "--network requires --lpips");
  expect_mistake(alone + "--size 16 --holdout 3", "--holdout requires --meshes");
  expect_mistake(alone + "--size 16 --lpips " + quoted("none"), "none");
  expect_mistake(alone + "--size 16 --protocol re10k", "expected one of gso, dl3dv");
  expect_mistake(alone + "--size 16 --protocol dl3dv", "--protocol dl3dv is for photos alone");
  expect_mistake(alone + "--size 16 --protocol gso --selection every", "--selection excludes --protocol");
  testing::write_photo_folder(path("fox"), 4, 16, 16);
  expect_mistake(alone + "--size 16 --counts 8 --photos " + quoted("fox"), "no scene has as many views");
}

}  // namespace
}  // namespace lact::cli
