// Gaussians for the photos of one capture, as a user makes them.
#include <nlohmann/json.hpp>

#include <filesystem>

#include "support/photo_folder.h"
#include "support/program.h"

namespace lact::cli {
namespace {

namespace fs = std::filesystem;
using lact::testing::expect_mistake;
using lact::testing::Outcome;
using lact::testing::run_program;
using lact::testing::TemporaryFolder;
using lact::testing::write_photo_folder;
using ::testing::HasSubstr;

class SplatProgram : public ::testing::Test {
 protected:
  SplatProgram() { write_photo_folder(folder_ / "photos", 9, 24, 32); }
  std::string quoted(const std::string& name) const { return "'" + (folder_ / name) + "'"; }
  std::string words(const std::string& more) const {
    return "--threads 1 nvs splat " + quoted("photos") +
           " --longer-side 32 --iterations 40 --random-points 100 --most 150 --set mcmc.refine_every=10 -o " +
           quoted("scene.ply") + " " + more;
  }
  TemporaryFolder folder_;
};

TEST_F(SplatProgram, GaussiansAreMadeScoredAndShown) {
  const Outcome outcome = run_program(words("--json"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("the capture has no points: 100 random ones"));
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["steps"], 40);
  EXPECT_EQ(json["photos"], 9);
  EXPECT_EQ(json["held_out"], 2);
  EXPECT_LE(json["gaussians"], 150);
  for (const char* file : {"ply", "video", "sheet", "curve"})
    EXPECT_TRUE(fs::exists(json[file].get<std::string>())) << file;
  // Another command gives the same photos the same figure.
  const Outcome scored = run_program("--threads 1 nvs eval --splats " + quoted("scene.ply") + " --photos " +
                                     quoted("photos") + " --size 24x32 --targets 9 --json");
  ASSERT_EQ(scored.exit_code, 0) << scored.err;
  const auto scores = nlohmann::json::parse(scored.out);
  EXPECT_NEAR(scores["means"][0]["psnr"].get<double>(), json["psnr"].get<double>(), 1e-3);
  const Outcome drawn = run_program("nvs render " + quoted("scene.ply") +
                                    " --turntable --frames 2 --size 16 -o " + quoted("frames"));
  EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
  expect_mistake(words(""), "holds a run already");
}

TEST_F(SplatProgram, SomeOfThePhotosAreTrainedOn) {
  const Outcome outcome = run_program(words("--views 3 --json"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["photos"], 5);  // three, and the two that are guessed
  EXPECT_EQ(json["held_out"], 2);
  expect_mistake("nvs splat " + quoted("photos") + " --views 8 -o " + quoted("b.ply"), "8 input views");
}

TEST_F(SplatProgram, ARunGoesOn) {
  const Outcome stopped = run_program(words("--strategy classic --stop-after 15"));
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("go on with: lact nvs splat --resume"));
  EXPECT_FALSE(fs::exists(folder_ / "scene.ply"));
  expect_mistake("nvs splat --resume " + quoted("scene.ply") + " --seed 2", "--seed cannot be changed");
  const Outcome outcome = run_program("--threads 1 nvs splat --resume " + quoted("scene.ply"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("40 steps"));
}

TEST_F(SplatProgram, MistakesAreSentences) {
  expect_mistake("nvs splat " + quoted("photos"), "-o is missing");
  expect_mistake("nvs splat -o " + quoted("a.ply"), "PHOTOS are missing");
  expect_mistake("nvs splat " + quoted("photos") + " -o " + quoted("a.obj"), "ends in .ply");
  expect_mistake(words("--set rates.scal=1"), "scale");
  expect_mistake(words("--minutes 1"), "--iterations");
  expect_mistake(words("--points " + quoted("none.bin")), "none.bin");
  expect_mistake("nvs splat --resume " + quoted("none.ply"), "none.run");
  EXPECT_FALSE(fs::exists(folder_ / "scene.run"));
}

}  // namespace
}  // namespace lact::cli
