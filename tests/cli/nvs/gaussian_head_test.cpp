// Models that predict Gaussians, as a user runs them: from an image model to a .ply file.
#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include "lact/io/gaussian_ply.h"
#include "lact/models/nvs/folder.h"
#include "support/places.h"
#include "support/program.h"
#include "support/tiny_nvs.h"

namespace lact::cli {
namespace {

using lact::testing::expect_mistake;
using lact::testing::make_nvs;
using lact::testing::run_program;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_nvs;

/// Three photos of 8 x 8 pixels.
const std::string kThreePhotos =
    "'" + testing::source_folder() + "/tests/data/views/examples/opencv_cameras.json'";

TEST(GaussianHeadProgram, AnImageModelLearnsToPredictGaussiansAndWritesThem) {
  const TemporaryFolder folder;
  const auto quoted = [&](const std::string& name) { return "'" + (folder / name) + "'"; };
  models::save_nvs(folder / "image", *make_nvs(tiny_nvs()));
  const auto trained = run_program(
      "--threads 1 nvs train --init " + quoted("image") +
      " --set head=gaussians --set gaussians.opacity_bias=0 --opacity 0.01 --steps 2 --size 8 --inputs 2 "
      "--targets 1 --batch 1 --valid-scenes 0 -o " +
      quoted("gaussians"));
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.err, ::testing::HasSubstr("all weights but the decoder's"));

  const std::string read = "--threads 1 nvs reconstruct " + kThreePhotos + " --size 8 --model ";
  const auto made = run_program(read + quoted("gaussians") + " --json --ply " + quoted("scene.ply") + " -o " +
                                quoted("scene.fw"));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(nlohmann::json::parse(made.out)["views"], 3);
  EXPECT_EQ(io::read_gaussians(folder / "scene.ply").size(), 3 * 64);
  const auto drawn = run_program("--threads 1 nvs render " + quoted("scene.fw") +
                                 " --turntable --frames 2 -o " + quoted("frames"));
  EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
  const auto alone =
      run_program(read + quoted("gaussians") + " --ply " + quoted("few.ply") + " --min-opacity 0.999");
  EXPECT_NE(alone.exit_code, 0);  // none is so opaque, and a file without any is none
  expect_mistake(read + quoted("gaussians"), "-o names the scene file, --ply a file of Gaussians");
  expect_mistake(read + quoted("image") + " --ply " + quoted("no.ply"),
                 "--ply needs a model whose head is gaussians");
  expect_mistake("nvs train --init " + quoted("image") + " --set num_layers=3 -o " + quoted("no"),
                 "--set may change the head to gaussians");
}

}  // namespace
}  // namespace lact::cli
