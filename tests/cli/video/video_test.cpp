// Videos as a user makes them: a text to frames, stopped, continued and branched.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include <filesystem>

#include "lact/io/image.h"
#include "lact/io/safetensors.h"
#include "lact/models/video/state_file.h"
#include "lact/tasks/video/load.h"
#include "support/program.h"
#include "support/tiny_video_folder.h"

namespace lact::cli {
namespace {

namespace fs = std::filesystem;
using lact::testing::expect_mistake;
using lact::testing::interrupt_program;
using lact::testing::make_video;
using lact::testing::Outcome;
using lact::testing::read_file;
using lact::testing::run_program;
using lact::testing::save_tiny_video;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_video;
using lact::testing::write_file;
using ::testing::HasSubstr;

/// Chunks of 2 frames of 4 x 6 pixels: the codec changes nothing.
class VideoProgram : public ::testing::Test {
 protected:
  VideoProgram() { save_tiny_video(path("model")); }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string quoted(const std::string& name) const { return "'" + path(name) + "'"; }

  std::string words(const std::string& more) const {
    return "--threads 1 video generate --model " + quoted("model") + " " + more;
  }
  nlohmann::json generate(const std::string& more, const std::string& environment = "") const {
    const Outcome outcome = run_program(words("--json " + more), environment);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out, nullptr, /*allow_exceptions=*/false);
  }

  /// The frames of a folder, one after the other.
  at::Tensor frames(const std::string& folder) const {
    std::vector<at::Tensor> all;
    for (int i = 0; fs::exists(path(fmt::format("{}/frame-{:05}.png", folder, i))); ++i)
      all.push_back(io::read_image(path(fmt::format("{}/frame-{:05}.png", folder, i))));
    return all.empty() ? at::zeros({0}) : at::stack(all);
  }

  /// A program named ffmpeg that stores the pixels it gets.
  std::string with_plain_ffmpeg() const {
    fs::create_directory(path("tools"));
    write_file(path("tools/ffmpeg"), "#!/bin/sh\nfor last; do :; done\nexec cat >\"${last#file:}\"\n");
    chmod(path("tools/ffmpeg").c_str(), 0755);
    return "PATH=" + quoted("tools") + ":\"$PATH\"";
  }

  TemporaryFolder folder_;
};

TEST_F(VideoProgram, MakesFramesChunkByChunk) {
  const auto report = generate(
      "--prompt 'a red ball' --chunks 3 --steps 3 --solver euler --shift 1.5 --guidance 2.5 --negative "
      "blurry "
      "--seed -4 --save-state " +
      quoted("x.state") + " -o " + quoted("frames/"));
  const auto& video = report["videos"][0];
  EXPECT_EQ(video["chunks"], 3);
  EXPECT_EQ(video["frames"], 6);
  EXPECT_EQ(video["height"], 4);
  EXPECT_EQ(video["width"], 6);
  EXPECT_EQ(video["prompt"], "a red ball");
  EXPECT_EQ(video["stopped"], false);
  EXPECT_EQ(video["resident_bytes"].size(), 3u);
  EXPECT_GT(video["resident_bytes"][2], 1'000'000);
  EXPECT_GT(report["peak_memory_bytes"], 1'000'000);
  const at::Tensor made = frames("frames");
  ASSERT_EQ(made.sizes(), at::IntArrayRef({6, 4, 6, 3}));
  EXPECT_FALSE(made[0].equal(made[5]));

  const auto model = models::load_video(path("model"));
  const auto sampling = models::load_sampling(path("x.state"), *model, nullptr, models::fingerprint(*model));
  EXPECT_EQ(sampling.prompt, "a red ball");
  EXPECT_EQ(sampling.negative, "blurry");
  EXPECT_EQ(sampling.seed, -4);
  EXPECT_EQ(sampling.options, (models::SampleOptions{{models::SolverKind::euler, 3, 1.5}, 2.5}));
}

TEST_F(VideoProgram, ContinuesAsIfItHadNotStopped) {
  const std::string start = "--prompt 'a red ball' --seed 9 --guidance 3 --steps 2 ";
  generate(start + "--chunks 4 -o " + quoted("whole"));
  generate(start + "--chunks 2 --save-state " + quoted("x.state") + " -o " + quoted("first"));
  const std::string go_on = "--threads 1 video generate --chunks 2 --model " + quoted("model") +
                            " --from-state " + quoted("x.state");
  const Outcome rest = run_program(go_on + " -o " + quoted("second"));
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_THAT(rest.out, HasSubstr("4 frames of 4 x 6 pixels, 2 chunks"));
  EXPECT_TRUE(at::cat({frames("first"), frames("second")}).equal(frames("whole")));

  // The same beginning, another end.
  const Outcome branch = run_program(go_on + " --prompt 'a blue box' --save-state " + quoted("y.state") +
                                     " -o " + quoted("other"));
  EXPECT_EQ(branch.exit_code, 0) << branch.err;
  EXPECT_FALSE(frames("other").equal(frames("second")));
  const auto model = models::load_video(path("model"));
  const auto sampling = models::load_sampling(path("y.state"), *model, nullptr, models::fingerprint(*model));
  EXPECT_EQ(sampling.prompt, "a blue box");
  EXPECT_EQ(sampling.seed, 9);
  EXPECT_EQ(sampling.options.solver.steps, 2);
  EXPECT_EQ(sampling.chunks(), 4);
}

TEST_F(VideoProgram, ADecoderWithAMemoryGoesOnToo) {
  // Of an autoencoder's latents, the first of a video is one frame, every other a group of them.
  auto config = tiny_video();
  config.in_channels = config.out_channels = models::vae_tiny().latent_channels;
  config.latent_height = config.latent_width = 4;
  models::save_video(path("model"), *make_video(config));
  fs::remove_all(path("model/codec"));
  models::save_codec(path("model/codec"),
                     models::VaeCodec(std::make_shared<models::Vae>(models::vae_tiny())));
  const int64_t side = 4 * models::vae_tiny().spatial(), step = models::vae_tiny().temporal();
  const auto whole = generate("--prompt x --steps 1 --chunks 3 -o " + quoted("whole"));
  EXPECT_EQ(whole["videos"][0]["frames"], 1 + 5 * step);
  EXPECT_EQ(whole["videos"][0]["height"], side);
  generate("--prompt x --steps 1 --chunks 1 --save-state " + quoted("x.state") + " -o " + quoted("first"));
  generate("--chunks 2 --from-state " + quoted("x.state") + " -o " + quoted("second"));
  EXPECT_EQ(frames("second").size(0), 4 * step);
  EXPECT_TRUE(at::cat({frames("first"), frames("second")}).equal(frames("whole")));
}

TEST_F(VideoProgram, AFileOfPromptsGivesNumberedVideos) {
  write_file(path("prompts.txt"), "a red ball\r\n\n  \na blue box\n");
  const auto report = generate("--chunks 1 --steps 1 --prompts " + quoted("prompts.txt") + " --save-state " +
                               quoted("x.state") + " -o " + quoted("frames/"));
  ASSERT_EQ(report["videos"].size(), 2u);
  EXPECT_EQ(report["videos"][1]["prompt"], "a blue box");
  EXPECT_EQ(report["videos"][1]["output"], path("frames-001"));
  EXPECT_EQ(frames("frames-000").size(0), 2);
  EXPECT_FALSE(frames("frames-000").equal(frames("frames-001")));
  EXPECT_TRUE(fs::exists(path("x-001.state")));
  generate("--chunks 1 --steps 1 --prompt 'a blue box' -o " + quoted("alone"));
  EXPECT_TRUE(frames("frames-001").equal(frames("alone")));
}

TEST_F(VideoProgram, WritesVideosThroughFfmpeg) {
  generate("--prompt x --chunks 2 --steps 1 --fps 8 -o " + quoted("x.mp4"), with_plain_ffmpeg());
  generate("--prompt x --chunks 2 --steps 1 -o " + quoted("frames"));
  const at::Tensor pixels = frames("frames").contiguous();
  EXPECT_EQ(read_file(path("x.mp4")),
            std::string(static_cast<const char*>(pixels.data_ptr()), size_t(pixels.nbytes())));
}

TEST_F(VideoProgram, AnInterruptKeepsWhatIsFinished) {
  // The signal comes when the third frame is there, inside of the second chunk or later.
  const auto outcome = interrupt_program(words("--json --prompt x --steps 2 --chunks 100000 --save-state " +
                                               quoted("x.state") + " -o " + quoted("frames")),
                                         "[ -e " + quoted("frames/frame-00002.png") + " ]");
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out, nullptr, false);
  const auto& video = report["videos"][0];
  EXPECT_EQ(video["stopped"], true);
  const int64_t chunks = video["chunks"];
  EXPECT_GE(chunks, 2);
  EXPECT_LT(chunks, 100000);
  EXPECT_EQ(frames("frames").size(0), 2 * chunks);
  EXPECT_THAT(outcome.err, HasSubstr("stopped after"));
  EXPECT_EQ(io::read_safetensors(path("x.state")).metadata.at("chunks"), std::to_string(chunks));
}

TEST_F(VideoProgram, AnExportedModelIsSmallerAndMakesVideos) {
  const auto outcome = run_program("video export " + quoted("model") + " -o " + quoted("small"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("as bf16"));
  EXPECT_LT(fs::file_size(path("small/model.safetensors")), fs::file_size(path("model/model.safetensors")));
  EXPECT_EQ(models::load_video(path("small"))->config(), models::load_video(path("model"))->config());
  const auto made = run_program("--threads 1 video generate --model " + quoted("small") +
                                " --prompt x --chunks 1 --steps 1 -o " + quoted("frames"));
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(frames("frames").size(0), 2);

  EXPECT_EQ(run_program("video export " + quoted("model") + " --type f32 -o " + quoted("same")).exit_code, 0);
  EXPECT_EQ(read_file(path("same/model.safetensors")), read_file(path("model/model.safetensors")));
  expect_mistake("video export " + quoted("model") + " -o " + quoted("small"), "holds a model already");
  fs::remove_all(path("model/text"));
  expect_mistake("video export " + quoted("model") + " -o " + quoted("half"), "the text encoder is missing");
  EXPECT_FALSE(fs::exists(path("half")));
}

TEST_F(VideoProgram, WithoutAModelTheShippedWeightsMakeFrames) {
  const Outcome outcome = run_program(
      "--threads 1 video generate --prompt 'a star' --chunks 1 --steps 2 --json -o " + quoted("frames"));
  if (tasks::video::shipped_weights().empty()) {
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("no weights come with this build (weights/video was not found)"));
  } else {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_GT(frames("frames").numel(), 0);
  }
}

TEST_F(VideoProgram, MistakesAreSentences) {
  const std::string out = " -o " + quoted("frames");
  const auto mistake = [&](const std::string& more, const std::string& sentence) {
    expect_mistake(words(more + " "), sentence);
  };
  mistake(out, "give --prompt, --prompts or --from-state");
  mistake("--prompt x --prompts y" + out, "give --prompt or --prompts, not both");
  mistake("--prompt x -o " + quoted("x.avi"), "frames are written to .mp4, .gif or .png, or to a folder");
  mistake("--prompt x --fps 3" + out, "--fps is for videos");
  mistake("--prompt x --chunks 0" + out, "--chunks");
  mistake("--prompt x --guidance -2" + out, "--guidance: -2 is out of range");
  mistake("--prompt x --solver dpm" + out, "unipc, euler");
  mistake("--prompt x --precision f8" + out, "precision");
  mistake("--prompt \"$(printf '\\377')\"" + out, "UTF-8");
  mistake("--prompt x --save-state /nowhere/x" + out, "/nowhere");
  write_file(path("empty.txt"), "\n\n");
  mistake("--prompts " + quoted("empty.txt") + out, "holds no prompt");
  write_file(path("bad.state"), "nothing");
  mistake("--from-state " + quoted("bad.state") + out, "bad.state");
  EXPECT_FALSE(fs::exists(path("frames")));

  generate("--prompt x --chunks 1 --steps 1 --save-state " + quoted("x.state") + out);
  mistake("--prompt x" + out, "holds frames already");
  save_tiny_video(path("model"), /*seed=*/4);
  mistake("--from-state " + quoted("x.state") + " -o " + quoted("more"), "was made by another model");
  expect_mistake("video generate --model " + quoted("none") + " --prompt x -o " + quoted("more"),
                 "is not a model folder");
  models::save_codec(path("model/codec"), models::PixelCodec(2));
  mistake("--prompt x -o " + quoted("more"), "the codec makes latents of 12 channels, but the model reads 3");
  fs::remove_all(path("model/text"));
  mistake("--prompt x -o " + quoted("more"), "the folder of the text encoder is missing");
  fs::remove_all(path("model/codec"));
  mistake("--prompt x -o " + quoted("more"), "the folder of the codec is missing");
}

}  // namespace
}  // namespace lact::cli
