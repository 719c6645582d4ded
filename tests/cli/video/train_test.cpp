// Video models as a user trains and measures them.
#include <nlohmann/json.hpp>

#include <filesystem>

#include <ATen/ATen.h>

#include "lact/io/image.h"
#include "lact/io/safetensors.h"
#include "support/program.h"

namespace lact::cli {
namespace {

namespace fs = std::filesystem;
using lact::testing::expect_mistake;
using lact::testing::Outcome;
using lact::testing::read_file;
using lact::testing::run_program;
using lact::testing::TemporaryFolder;
using ::testing::HasSubstr;
using Json = nlohmann::json;

/// 16 x 16 pixels, 16 tokens per frame, one block.
const char* const kToyModel =
    "--set model_dim=24 --set num_layers=1 --set layer.attention.num_heads=2 --set layer.memory.rope_heads=2 "
    "--set cross_attention.num_heads=2 --set feed_forward.hidden_dim=32 --set text_dim=8 --set text_length=8 "
    "--set frequency_dim=16 --set in_channels=3 --set out_channels=3 --set patch=[1,4,4] --set "
    "chunk_frames=2 "
    "--set latent_height=16 --set latent_width=16 ";

class VideoTrainProgram : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string quoted(const std::string& name) const { return "'" + path(name) + "'"; }
  std::string words(const std::string& more, const std::string& length = "--chunks 4 --steps 3 ") const {
    return std::string("--threads 1 video train ") + kToyModel + length +
           "--batch 2 --valid-clips 2 --validate-every 3 " + more;
  }
  Json run(const std::string& arguments) const {
    const Outcome outcome = run_program(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out, nullptr, /*allow_exceptions=*/false);
  }

  TemporaryFolder folder_;
};

TEST_F(VideoTrainProgram, TrainsMeasuresAndGenerates) {
  const Json trained = run(words("-o " + quoted("lact")));
  EXPECT_EQ(trained["steps"], 3);
  EXPECT_GT(trained["valid_loss"], 0.5);
  EXPECT_TRUE(fs::exists(path("lact/samples/step_0000003.png")));
  run(words("--set mixer=window -o " + quoted("window")));

  const Json measured =
      run("--threads 1 video eval -m " + quoted("lact") + " -m baseline=" + quoted("window") +
          " --chunks 5 --count 2 --timesteps 550,950 --continued 1 --steps 2 --json -o " + quoted("out"));
  EXPECT_EQ(measured["chunks"], 5);
  ASSERT_EQ(measured["models"].size(), 2u);
  EXPECT_EQ(measured["models"][1]["name"], "baseline");
  EXPECT_EQ(measured["models"][1]["mixer"], "window");
  EXPECT_EQ(measured["models"][0]["by_chunk"].size(), 5u);
  EXPECT_EQ(measured["models"][0]["by_timestep"][1]["timestep"], 950);
  EXPECT_GT(measured["models"][0]["reappearance"]["returning"], 0);
  for (const char* name : {"denoising.json", "denoising.svg", "denoising_reappearance.svg"})
    EXPECT_TRUE(fs::exists(path("out") + "/" + name)) << name;
  EXPECT_THAT(read_file(path("out/report.html")), HasSubstr("baseline"));
  // The truth and two models, 10 frames each.
  EXPECT_EQ(io::read_image(path("out/continued_01.png")).size(0), 3 * 16 + 2 * 2);

  const Json made = run("--threads 1 video generate -m " + quoted("lact") +
                        " -p 'A star stays.' --chunks 2 --steps 2 --json -o " + quoted("frames"));
  EXPECT_EQ(made["videos"][0]["frames"], 4);
}

TEST_F(VideoTrainProgram, GoesOnAfterAStop) {
  const Outcome stopped = run_program(words("--stop-after 2 -o " + quoted("run")));
  EXPECT_EQ(stopped.exit_code, 130);
  EXPECT_THAT(stopped.err, HasSubstr("go on with: lact video train --resume"));
  expect_mistake("video train --batch 3 --resume " + quoted("run"), "--batch cannot be changed");
  EXPECT_EQ(run("--threads 1 video train --resume " + quoted("run"))["steps"], 3);
}

TEST_F(VideoTrainProgram, AddsAMemoryToATrainedModel) {
  run(words("--set mixer=window -o " + quoted("window")));
  run("--threads 1 video train --init " + quoted("window") +
      " --set mixer=lact --train attention --chunks 4 --batch 1 --steps 2 --valid-clips 0 -o " +
      quoted("lact"));
  const Json settings = Json::parse(read_file(path("lact/run.json")));
  EXPECT_EQ(settings["learning"]["new_rate"], 10);
  EXPECT_EQ(settings["learning"]["train"], "attention");
  expect_mistake("video train --config video_tiny --init " + quoted("window"),
                 "--config means nothing with --init");
}

TEST_F(VideoTrainProgram, TrainsAttentionAloneWithBlocksComputedAgain) {
  for (const char* what : {"blocks", "none"})
    run(words(std::string("--train attention --text-dropout 0 --recompute ") + what + " -o " + quoted(what)));
  const auto again = io::read_safetensors(path("blocks/model.safetensors")).tensors,
             once = io::read_safetensors(path("none/model.safetensors")).tensors;
  ASSERT_EQ(again.size(), once.size());
  for (const auto& [name, tensor] : once)
    EXPECT_TRUE(at::allclose(again.at(name), tensor, 1e-4, 1e-6)) << name;
}

TEST_F(VideoTrainProgram, TrainsACodecThatModelsAreTrainedWith) {
  const Json codec =
      run("--threads 1 video train-codec -c tiny --set base_channels=4 --frames 5 --height 16 --width 16 "
          "--batch 1 --valid 2 --steps 2 -o " +
          quoted("codec"));
  EXPECT_GT(codec["valid_psnr"], 1);
  const Json better =
      run("--threads 1 video train-codec --init " + quoted("codec") +
          " --frames 5 --height 16 --width 16 --batch 1 --valid 2 --steps 1 -o " + quoted("better"));
  EXPECT_EQ(better["steps"], 1);
  expect_mistake("video train-codec -c tiny --init " + quoted("codec"), "--config means nothing with --init");
  const Outcome plan = run_program("video train-codec -c tiny --dry-run");
  EXPECT_EQ(plan.exit_code, 0);
  EXPECT_THAT(plan.out, HasSubstr("4 clips of 17 frames of 64 x 64 pixels"));
  EXPECT_THAT(read_file(path("codec/config.json")), HasSubstr("latent_std"));
  run(words("--codec " + quoted("codec") +
                " --set in_channels=8 --set out_channels=8 --set patch=[1,2,2] --set latent_height=4 "
                "--set latent_width=4 -o " +
                quoted("run"),
            "--chunks 4 --steps 1 "));
  EXPECT_TRUE(fs::exists(path("run/codec/model.safetensors")));
  expect_mistake(words("--codec " + quoted("codec") + " -o " + quoted("other")),
                 "the codec makes latents of 8 channels, but the model reads 3");
}

TEST_F(VideoTrainProgram, TellsWhatARunWouldTake) {
  const Outcome outcome = run_program(words("--dry-run -o " + quoted("run")));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("3 steps of 2 clips, 4 chunks of 2 frames of 16 x 16 pixels"));
  EXPECT_FALSE(fs::exists(path("run")));
}

TEST_F(VideoTrainProgram, MistakesAreOneSentence) {
  const std::string output = " -o " + quoted("run");
  expect_mistake("video train -c lm_tiny" + output, "lm_tiny is not a video model");
  expect_mistake(words("--stage chunk=3" + output), "chunk");
  expect_mistake(words(output, "--chunks 3 "), "chunks is 3, expected 4");
  expect_mistake(words("--height 18" + output), "does not divide into patches of 4 pixels");
  expect_mistake(words("--clips " + quoted("nothing") + output), "nothing");
  expect_mistake(words("--stretches 3" + output), "--stretches is for clips on the disk");
  expect_mistake(words("--clips " + quoted("nothing") + " --gap-min 3" + output),
                 "--gap-min is for made-up clips");
  expect_mistake(words("--train head" + output), "all, attention");
  expect_mistake("video eval -m " + quoted("nothing"), "is not a model folder");
  expect_mistake("video eval -m " + quoted("nothing") + " --timesteps 1200",
                 "--timesteps: 1200 is out of range");
  expect_mistake("video train-codec --frames 6" + output, "frames is 6");
  for (const std::string value : {"-2", "9223372036854775807"}) {
    expect_mistake("video train-codec --gap-max=" + value + output, "gap-max");
    expect_mistake(words("--gap-max=" + value + output), "gap-max");
  }
  for (const std::string value : {"nan", "-1"})
    expect_mistake(words("--epsilon=" + value + output), "epsilon");
  expect_mistake(words("--from-start" + output), "--from-start is for --resume");
  EXPECT_FALSE(fs::exists(path("run/run.json")));
}

}  // namespace
}  // namespace lact::cli
