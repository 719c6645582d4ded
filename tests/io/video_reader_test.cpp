#include "lact/io/video_reader.h"

#include <ATen/ATen.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "lact/base/options.h"
#include "lact/io/video_writer.h"
#include "support/errors.h"
#include "support/ffmpeg.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace lact::io {
namespace {

using lact::testing::ffmpeg_is_installed;
using lact::testing::read_file;
using lact::testing::TemporaryFolder;
using lact::testing::write_file;
using ::testing::HasSubstr;

std::vector<at::Tensor> all_frames(const std::string& path, const VideoReadOptions& options = {}) {
  VideoReader reader(path, options);
  std::vector<at::Tensor> frames;
  for (at::Tensor frame = reader.next(); frame.defined(); frame = reader.next()) frames.push_back(frame);
  EXPECT_EQ(reader.frames_read(), int64_t(frames.size()));
  EXPECT_FALSE(reader.next().defined());
  return frames;
}

at::Tensor grey_frame(int64_t height, int64_t width, int value) {
  return at::full({height, width, 3}, value, at::kByte);
}

/// Frame i is grey of brightness 20 i.
void write_ramp(const std::string& path, int64_t frames, double fps, ImageSize size = {16, 24}) {
  VideoWriter writer(path, {size, fps});
  for (int64_t i = 0; i < frames; ++i) writer.write(grey_frame(size.height, size.width, int(20 * i)));
  writer.finish();
}

int brightness(const at::Tensor& frame) {
  return int(std::lround(frame.to(at::kFloat).mean().item<double>()));
}

/// A program in place of ffmpeg and ffprobe.
class VideoReaderWithScript : public ::testing::Test {
 protected:
  VideoPrograms script(const std::string& text) {
    const std::string program = tools_ / "program";
    write_file(program, "#!/bin/sh\n" + text);
    chmod(program.c_str(), 0755);
    write_file(folder_ / "x.mp4", "anything");
    return {program, program};
  }
  VideoReadOptions options(const std::string& text) {
    VideoReadOptions result;
    result.programs = script(text);
    return result;
  }

  TemporaryFolder tools_, folder_;
};

TEST_F(VideoReaderWithScript, FramesAreThePicturesThatItWrites) {
  const auto frames =
      all_frames(folder_ / "x.mp4", options("printf 'P6\\n2 1\\n255\\nabcdefP6\\n1 1\\n255\\nxyz'"));
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_TRUE(frames[0].equal(at::arange('a', 'a' + 6, at::kByte).view({1, 2, 3})));
  EXPECT_TRUE(frames[1].equal(at::arange('x', 'x' + 3, at::kByte).view({1, 1, 3})));
}

TEST_F(VideoReaderWithScript, TellsSizeRateStartAndNothingButFiles) {
  VideoReadOptions wanted = options("echo \"$@\" >&2\nexit 1");
  wanted.size = {64, 96};
  wanted.fps = 12.5;
  wanted.start = 2.25;
  wanted.max_frames = 7;
  const std::string name = folder_ / "-y http: $(touch x).mp4";
  write_file(name, "anything");
  VideoReader reader(name, wanted);
  const std::string words = testing::sentence_of<Error>([&] { reader.next(); });
  EXPECT_THAT(words, HasSubstr("-protocol_whitelist file -format_whitelist mov,"));
  EXPECT_THAT(words, HasSubstr("-ss 2.250000 -i file:" + name));
  EXPECT_THAT(read_file(tools_ / "program"), HasSubstr("echo"));
}

TEST_F(VideoReaderWithScript, TheLastLineOfComplaintsIsTheSentence) {
  const auto failing =
      options("printf 'P6\\n1 1\\n255\\nxyz'\necho first >&2\necho 'moov  atom' >&2\nexit 3");
  VideoReader reader(folder_ / "x.mp4", failing);
  EXPECT_TRUE(reader.next().defined());
  EXPECT_SENTENCE(reader.next(),
                  "x.mp4: the video cannot be read by " + failing.programs.ffmpeg + ": moov atom");
  EXPECT_FALSE(reader.next().defined());
  VideoReader empty(folder_ / "x.mp4", options("exit 0"));
  EXPECT_SENTENCE(empty.next(), "there is no frame in it");
}

TEST_F(VideoReaderWithScript, ALengthThatNoVideoHasIsASentence) {
  const auto probe = [&](const std::string& seconds, const std::string& rate) {
    return probe_video(folder_ / "x.mp4",
                       script("echo '{\"streams\": [{\"width\": 8, \"height\": 8, \"duration\": \"" +
                              seconds + "\", \"avg_frame_rate\": \"" + rate + "\"}]}'"));
  };
  EXPECT_EQ(probe("10.5", "25/1").seconds, 10.5);
  EXPECT_SENTENCE(probe("1e300", "25/1"), "x.mp4: the video claims 1e+300 seconds of 25 frames each");
  EXPECT_SENTENCE(probe("1", "1e300/1"), "x.mp4: the video claims 1 seconds of 1e+300 frames each");
}

TEST_F(VideoReaderWithScript, OddStreamsAreSentences) {
  const auto expect = [&](const std::string& text, const std::string& sentence) {
    VideoReader reader(folder_ / "x.mp4", options(text));
    EXPECT_SENTENCE(reader.next(), sentence);
  };
  expect("printf 'P5\\n1 1\\n255\\nx'\necho odd >&2", "odd");
  expect("printf 'P6\\n2 2\\n255\\nabc'\necho short >&2", "short");
  expect("printf 'P6\\n9999999999999999999 2\\n255\\nabc'", "x.mp4: the picture is");
  expect("printf 'P6\\n0 2\\n255\\nabc'", "x.mp4: the picture is 0 x 2 pixels");
}

TEST_F(VideoReaderWithScript, EndlessComplaintsTakeNoMemoryAndTheLastOneStays) {
  VideoReader reader(folder_ / "x.mp4",
                     options("printf 'P6\\n1 1\\n255\\nxyz'\n"
                             "head -c 3000000 /dev/zero | tr '\\0' 'c' >&2\necho >&2\necho 'the end' >&2\n"
                             "printf 'P6\\n1 1\\n255\\nxyz'\nexit 1"));
  EXPECT_TRUE(reader.next().defined());
  EXPECT_TRUE(reader.next().defined());
  EXPECT_SENTENCE(reader.next(), "the end");
}

TEST_F(VideoReaderWithScript, WithoutAnEndTheProgramIsStopped) {
  VideoReader reader(folder_ / "x.mp4", options("while :; do printf 'P6\\n1 1\\n255\\nxyz'; done"));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(reader.next().defined());
}

TEST_F(VideoReaderWithScript, MistakesAreSentences) {
  VideoReadOptions wanted = options("exit 0");
  EXPECT_SENTENCE(VideoReader(folder_ / "no.mp4", wanted), "no.mp4: does not exist");
  EXPECT_SENTENCE(VideoReader(folder_ / "", wanted), "is a folder");
  wanted.size = {64, 0};
  EXPECT_SENTENCE(VideoReader(folder_ / "x.mp4", wanted), "frames of 0 x 64 pixels");
  wanted.size = {};
  wanted.fps = -1;
  EXPECT_SENTENCE(VideoReader(folder_ / "x.mp4", wanted), "-1 frames per second are asked for");
  wanted.fps = 0;
  wanted.start = -2;
  EXPECT_SENTENCE(VideoReader(folder_ / "x.mp4", wanted), "from second -2");
  wanted.start = 0;
  wanted.programs.ffmpeg = "/nowhere/ffmpeg";
  EXPECT_SENTENCE(VideoReader(folder_ / "x.mp4", wanted), "not installed (Debian package ffmpeg)");
}

TEST_F(VideoReaderWithScript, OddAnswersOfTheProbeAreSentences) {
  const std::string file = folder_ / "x.mp4";
  EXPECT_SENTENCE(probe_video(file, script("echo no")), "gives no JSON");
  EXPECT_SENTENCE(probe_video(file, script("echo '{\"streams\": []}'")),
                  "x.mp4: the file has no video in it");
  EXPECT_SENTENCE(probe_video(file, script("echo '{\"streams\": [{\"width\": 4, \"height\": 4}]}'")),
                  "does not tell its frame rate");
  EXPECT_SENTENCE(probe_video(file, script("echo sorry >&2\nexit 1")), "sorry");
  const VideoInfo info = probe_video(
      file, script("echo '{\"streams\": [{\"width\": 4, \"height\": 2, \"avg_frame_rate\": \"30000/1001\", "
                   "\"nb_read_packets\": \"90\", \"duration\": \"N/A\"}]}'"));
  EXPECT_EQ(info.size, (ImageSize{2, 4}));
  EXPECT_NEAR(info.fps, 29.97, 1e-3);
  EXPECT_NEAR(info.seconds, 3.003, 1e-9) << "counted";
}

TEST(VideoReader, NamesOfVideos) {
  for (const std::string name : {"a.mp4", "x/b.AVI", "c.gif", "d.mkv", "e.mpg"})
    EXPECT_TRUE(is_readable_video_name(name)) << name;
  for (const std::string name : {"a.txt", "mp4", "c.png", "d.mp4.part", ""})
    EXPECT_FALSE(is_readable_video_name(name)) << name;
}

TEST(VideoReader, FramesComeBackInOrder) {
  if (!ffmpeg_is_installed()) GTEST_SKIP() << "ffmpeg is not installed";
  const TemporaryFolder folder;
  for (const std::string name : {"a.mp4", "-b.gif"}) {
    write_ramp(folder / name, 10, 10);
    const VideoInfo info = probe_video(folder / name);
    EXPECT_EQ(info.size, (ImageSize{16, 24}));
    EXPECT_NEAR(info.fps, 10, 0.2) << name;
    EXPECT_NEAR(info.seconds, 1, 0.11) << name;
    const auto frames = all_frames(folder / name);
    ASSERT_EQ(frames.size(), 10U) << name;
    // Colours of a palette are up to 6 off.
    for (int i = 0; i < 10; ++i) EXPECT_NEAR(brightness(frames[size_t(i)]), 20 * i, 8) << name;
  }
}

TEST(VideoReader, StartsWhereItIsToldAndKeepsToTheRate) {
  if (!ffmpeg_is_installed()) GTEST_SKIP() << "ffmpeg is not installed";
  const TemporaryFolder folder;
  write_ramp(folder / "a.mp4", 10, 10);
  VideoReadOptions options;
  options.start = 0.35;
  options.max_frames = 3;
  auto frames = all_frames(folder / "a.mp4", options);
  ASSERT_EQ(frames.size(), 3U);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(brightness(frames[size_t(i)]), 80 + 20 * i, 4);
  options = {};
  options.fps = 5;
  frames = all_frames(folder / "a.mp4", options);
  ASSERT_EQ(frames.size(), 5U);
  for (int i = 1; i < 5; ++i)
    EXPECT_NEAR(brightness(frames[size_t(i)]) - brightness(frames[size_t(i) - 1]), 40, 4);
  options.fps = 20;
  EXPECT_EQ(all_frames(folder / "a.mp4", options).size(), 20U);
  options = {};
  options.start = 100;
  EXPECT_EQ(all_frames(folder / "a.mp4", options).size(), 0U) << "behind the end there is nothing";
}

TEST(VideoReader, CutsOutTheMiddleAndScalesIt) {
  if (!ffmpeg_is_installed()) GTEST_SKIP() << "ffmpeg is not installed";
  const TemporaryFolder folder;
  at::Tensor wide = grey_frame(32, 96, 100);  // dark, a bright middle of 32 x 32, dark
  wide.narrow(1, 32, 32).fill_(200);
  VideoWriter writer(folder / "a.mp4", {{32, 96}, 10});
  writer.write(wide);
  writer.finish();
  VideoReadOptions options;
  options.size = {9, 9};
  const auto frames = all_frames(folder / "a.mp4", options);
  ASSERT_EQ(frames.size(), 1U);
  ASSERT_EQ(frames[0].sizes(), (at::IntArrayRef{9, 9, 3}));
  EXPECT_NEAR(brightness(frames[0]), 200, 5);
  options.size = {32, 192};
  EXPECT_EQ(all_frames(folder / "a.mp4", options)[0].sizes(), (at::IntArrayRef{32, 192, 3}));
}

TEST(VideoReader, FilesThatAreNoVideosAreSentences) {
  if (!ffmpeg_is_installed()) GTEST_SKIP() << "ffmpeg is not installed";
  const TemporaryFolder folder;
  write_ramp(folder / "good.mp4", 10, 10);
  const std::string good = read_file(folder / "good.mp4");
  const std::map<std::string, std::string> files = {
      {"text.mp4", "this is not a video\n"},
      {"half.mp4", good.substr(0, 300)},
      // A list that would make ffmpeg open other files.
      {"list.mp4", "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n" + folder / "good.mp4" + "\n"}};
  for (const auto& [name, bytes] : files) {
    write_file(folder / name, bytes);
    EXPECT_SENTENCE(probe_video(folder / name), name + ": the ");
    EXPECT_SENTENCE(VideoReader(folder / name).next(), name + ": the video cannot be read by ffmpeg: ");
  }
}

/// What two ways of making a frame smaller agree on: averages of 8 x 8 pixels.
at::Tensor coarse(const at::Tensor& frame) {
  return at::avg_pool2d(frame.permute({2, 0, 1}).to(at::kFloat).unsqueeze(0), 8);
}

// The stretches were made by another program, which crops and averages a little differently.
TEST(VideoReader, FramesAreThoseOfAnotherDecoder) {
  const std::string folder = lact::testing::shared_data("video");
  if (folder.empty()) GTEST_SKIP() << "the folder shared/data/video is not there";
  if (!ffmpeg_is_installed()) GTEST_SKIP() << "ffmpeg is not installed";
  constexpr size_t kHeader = 128;
  const std::vector<std::string> names = {"cog_horse", "newtonscradle", "soccer_juggling_g23", "pancake",
                                          "carphone"};
  for (const auto& record : options::read_json_file(folder + "/clips.json")) {
    const auto name = record["name"].get<std::string>();
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    const std::string stored = read_file(folder + "/" + record["frames"].get<std::string>());
    const auto shape = record["npy_shape"].get<std::vector<int64_t>>();
    const int64_t first = record["first_frame"].get<int64_t>(), stride = record["stride"].get<int64_t>();
    VideoReadOptions options;
    options.size = {shape[1], shape[2]};
    options.max_frames = first + 12 * stride + 1;
    const auto frames = all_frames(folder + "/" + record["clip"].get<std::string>(), options);
    ASSERT_EQ(int64_t(frames.size()), options.max_frames) << name;
    for (const int64_t index : {1, 6, 11}) {
      const size_t begin = kHeader + size_t(index * shape[1] * shape[2] * 3);
      const at::Tensor expected =
          coarse(at::from_blob(const_cast<char*>(stored.data()) + begin, {shape[1], shape[2], 3}, at::kByte));
      const auto difference = [&](int64_t frame) {
        return (coarse(frames[size_t(frame)]) - expected).abs().mean().item<double>();
      };
      const int64_t frame = first + index * stride;
      EXPECT_LT(difference(frame), 4) << name << " frame " << index;
      for (const int64_t other : {frame - stride, frame + stride})
        EXPECT_LT(difference(frame), difference(other) + 0.2)
            << name << " frames are counted alike " << index;
    }
  }
}

}  // namespace
}  // namespace lact::io
