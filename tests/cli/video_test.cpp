// Videos as a user makes them: a text to frames, stopped, continued and branched.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include <filesystem>

#include "lact/io/image.h"
#include "lact/io/safetensors.h"
#include "lact/models/video/folder.h"
#include "support/program.h"
#include "support/tiny_video.h"

namespace lact::cli {
namespace {

namespace fs = std::filesystem;
using lact::testing::expect_mistake;
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
    return "--threads 1 video generate --model " + quoted("model") + " --steps 2 " + more;
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
  const auto report = generate("--prompt 'a red ball' --chunks 3 -o " + quoted("frames/"));
  const auto& video = report["videos"][0];
  EXPECT_EQ(video["chunks"], 3);
  EXPECT_EQ(video["frames"], 6);
  EXPECT_EQ(video["height"], 4);
  EXPECT_EQ(video["width"], 6);
  EXPECT_EQ(video["prompt"], "a red ball");
  EXPECT_EQ(video["resident_bytes"].size(), 3u);
  EXPECT_GT(video["resident_bytes"][2], 1'000'000);
  EXPECT_GE(report["peak_memory_bytes"], video["resident_bytes"][2]);
  const at::Tensor made = frames("frames");
  EXPECT_EQ(made.sizes(), at::IntArrayRef({6, 4, 6, 3}));
  EXPECT_FALSE(made[0].equal(made[5]));

  generate("--prompt 'a red ball' --chunks 3 -o " + quoted("again"));
  EXPECT_TRUE(frames("again").equal(made));
  for (const char* change : {"--seed 2", "--guidance 2", "--solver euler", "--negative blurry", "--shift 1",
                             "--steps 3", "--precision bf16"}) {
    fs::remove_all(path("other"));
    generate(std::string("--prompt 'a red ball' --chunks 3 ") + change + " -o " + quoted("other"));
    EXPECT_FALSE(frames("other").equal(made)) << change;
  }
}

TEST_F(VideoProgram, ContinuesAsIfItHadNotStopped) {
  generate("--prompt 'a red ball' --seed 9 --guidance 3 --chunks 4 -o " + quoted("whole"));
  generate("--prompt 'a red ball' --seed 9 --guidance 3 --chunks 2 --save-state " + quoted("x.state") +
           " -o " + quoted("first"));
  const auto report =
      run_program("--threads 1 video generate --model " + quoted("model") + " --chunks 2 --from-state " +
                  quoted("x.state") + " -o " + quoted("second"));
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("4 frames of 4 x 6 pixels, 2 chunks"));
  EXPECT_TRUE(at::cat({frames("first"), frames("second")}).equal(frames("whole")));

  // The same beginning, another end.
  const auto other = [&](const std::string& change) {
    fs::remove_all(path("other"));
    generate(change + " --chunks 2 --from-state " + quoted("x.state") + " -o " + quoted("other"));
    return frames("other");
  };
  EXPECT_TRUE(other("").equal(frames("second")));
  for (const char* change :
       {"--seed 2", "--prompt 'a blue box'", "--negative blurry", "--guidance 1", "--steps 3"})
    EXPECT_FALSE(other(change).equal(frames("second"))) << change;
}

TEST_F(VideoProgram, AFileOfPromptsGivesNumberedVideos) {
  write_file(path("prompts.txt"), "a red ball\r\n\n  \na blue box\n");
  const auto report = generate("--chunks 1 --prompts " + quoted("prompts.txt") + " --save-state " +
                               quoted("x.state") + " -o " + quoted("frames/"));
  ASSERT_EQ(report["videos"].size(), 2u);
  EXPECT_EQ(report["videos"][1]["prompt"], "a blue box");
  EXPECT_EQ(report["videos"][1]["output"], path("frames-001"));
  EXPECT_EQ(frames("frames-000").size(0), 2);
  EXPECT_FALSE(frames("frames-000").equal(frames("frames-001")));
  EXPECT_TRUE(fs::exists(path("x-001.state")));
  generate("--chunks 1 --prompt 'a blue box' -o " + quoted("alone"));
  EXPECT_TRUE(frames("frames-001").equal(frames("alone")));
}

TEST_F(VideoProgram, WritesVideosThroughFfmpeg) {
  generate("--prompt x --chunks 2 --fps 8 -o " + quoted("x.mp4"), with_plain_ffmpeg());
  generate("--prompt x --chunks 2 -o " + quoted("frames"));
  const at::Tensor pixels = frames("frames").contiguous();
  EXPECT_EQ(read_file(path("x.mp4")),
            std::string(static_cast<const char*>(pixels.data_ptr()), size_t(pixels.nbytes())));
}

TEST_F(VideoProgram, AnInterruptKeepsWhatIsFinished) {
  // The signal comes when the third frame is there, inside of the second chunk or later.
  const std::string command = words("--json --prompt x --chunks 100000 --save-state " + quoted("x.state") +
                                    " -o " + quoted("frames"));
  const std::string script = fmt::format(
      "'{}' {} >{} 2>{} & pid=$!; while [ ! -e {} ]; do sleep 0.05; done; kill -INT $pid; wait $pid",
      LACT_PROGRAM, command, quoted("out"), quoted("err"), quoted("frames/frame-00002.png"));
  write_file(path("run.sh"), script);
  const int status = std::system(("timeout 60 bash " + quoted("run.sh")).c_str());
  EXPECT_EQ(WEXITSTATUS(status), 130) << read_file(path("err"));
  const auto report = nlohmann::json::parse(read_file(path("out")), nullptr, false);
  const auto& video = report["videos"][0];
  EXPECT_EQ(video["stopped"], true);
  const int64_t chunks = video["chunks"];
  EXPECT_GE(chunks, 2);
  EXPECT_LT(chunks, 100000);
  EXPECT_EQ(frames("frames").size(0), 2 * chunks);
  EXPECT_THAT(read_file(path("err")), HasSubstr("stopped after"));
  EXPECT_EQ(io::read_safetensors(path("x.state")).metadata.at("chunks"), std::to_string(chunks));
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
  mistake("--prompt x --guidance -2" + out, "guidance is -2");
  mistake("--prompt x --solver dpm" + out, "unipc, euler");
  mistake("--prompt x --precision f8" + out, "precision");
  mistake("--prompt \"$(printf '\\377')\"" + out, "UTF-8");
  mistake("--prompt x --save-state /nowhere/x" + out, "/nowhere");
  write_file(path("empty.txt"), "\n\n");
  mistake("--prompts " + quoted("empty.txt") + out, "holds no prompt");
  mistake("--prompts " + quoted("none.txt") + out, "none.txt");
  mistake("--from-state " + quoted("none.state") + out, "none.state");
  write_file(path("bad.state"), "nothing");
  mistake("--from-state " + quoted("bad.state") + out, "bad.state");
  EXPECT_FALSE(fs::exists(path("frames")));

  generate("--prompt x --chunks 1 --save-state " + quoted("x.state") + out);
  mistake("--prompt x" + out, "holds frames already");
  save_tiny_video(path("model"), /*seed=*/4);
  mistake("--from-state " + quoted("x.state") + " -o " + quoted("more"), "was made by another model");
  expect_mistake("video generate --model " + quoted("none") + " --prompt x -o " + quoted("more"),
                 "is not a model folder");
  fs::remove_all(path("model/codec"));
  mistake("--prompt x -o " + quoted("more"), "codec");
}

}  // namespace
}  // namespace lact::cli
