#include "lact/io/video_writer.h"

#include <ATen/ATen.h>
#include <sys/stat.h>

#include <cstdlib>

#include "support/errors.h"
#include "support/ffmpeg.h"
#include "support/temporary_folder.h"

namespace lact::io {
namespace {

using lact::testing::decode_video;
using lact::testing::ffmpeg_is_installed;
using lact::testing::read_file;
using lact::testing::TemporaryFolder;
using lact::testing::write_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

at::Tensor plain_frame(int64_t height, int64_t width, std::initializer_list<int> color) {
  at::Tensor frame = at::empty({height, width, 3}, at::kByte);
  int64_t channel = 0;
  for (const int value : color) frame.select(2, channel++).fill_(value);
  return frame;
}

/// A program in place of ffmpeg; the shell's last argument is the file to write, after "file:".
class VideoWriterWithScript : public ::testing::Test {
 protected:
  VideoOptions script(const std::string& text) {
    write_file(tools_ / "ffmpeg", "#!/bin/sh\nfor last; do :; done\nout=${last#file:}\n" + text);
    chmod((tools_ / "ffmpeg").c_str(), 0755);
    return {{2, 3}, 25, tools_ / "ffmpeg"};
  }

  TemporaryFolder tools_, folder_;
};

TEST_F(VideoWriterWithScript, HandsOverEveryByteInOrder) {
  const std::string path = folder_ / "a video.mp4";
  write_file(path, "old");
  const at::Tensor first = at::arange(18, at::kByte).view({2, 3, 3});
  const at::Tensor second = first.add(100).transpose(0, 1).contiguous().transpose(0, 1);
  VideoWriter writer(path, script("exec cat >\"$out\"\n"));
  writer.write(first);
  writer.write(second);
  EXPECT_EQ(read_file(path), "old");
  writer.finish();
  std::string expected;
  for (int i = 0; i < 18; ++i) expected.push_back(char(i));
  for (int i = 0; i < 18; ++i) expected.push_back(char(i + 100));
  EXPECT_EQ(read_file(path), expected);
  EXPECT_THAT(folder_.names(), ElementsAre("a video.mp4"));
  EXPECT_SENTENCE(writer.write(first), "finished already");
}

TEST_F(VideoWriterWithScript, TellsSizeRateAndFormat) {
  VideoWriter writer(folder_ / "x.gif", script("cat >/dev/null\necho \"$@\" >\"$out\"\n"));
  writer.write(at::zeros({2, 3, 3}, at::kByte));
  writer.finish();
  const std::string words = read_file(folder_ / "x.gif");
  EXPECT_THAT(words, HasSubstr("-f rawvideo -pixel_format rgb24 -framerate 25 -video_size 3x2 -i pipe:0"));
  EXPECT_THAT(words, HasSubstr("-f gif file:" + folder_ / "x.gif"));
}

TEST_F(VideoWriterWithScript, WhatItComplainsOfIsTheSentence) {
  const auto options = script("cat >/dev/null\necho 'no  such' >&2\necho codec >&2\nexit 1\n");
  VideoWriter writer(folder_ / "x.mp4", options);
  writer.write(at::zeros({2, 3, 3}, at::kByte));
  EXPECT_SENTENCE(writer.finish(), "x.mp4: " + options.ffmpeg + " failed: no such codec");
}

TEST_F(VideoWriterWithScript, AProgramThatStopsEarlyDoesNotEndOurs) {
  {
    const auto options = script("echo 'out of sorts' >&2\nexit 3\n");
    VideoWriter writer(folder_ / "x.mp4", options);
    const auto many = [&] {
      for (int i = 0; i < 100'000; ++i) writer.write(at::zeros({2, 3, 3}, at::kByte));
      writer.finish();
    };
    EXPECT_SENTENCE(many(), "failed: out of sorts");
  }
  EXPECT_THAT(folder_.names(), ElementsAre());
}

TEST_F(VideoWriterWithScript, WithoutAnEndNothingIsLeft) {
  {
    VideoWriter writer(folder_ / "x.mp4", script("exec cat >\"$out\"\n"));
    writer.write(at::zeros({2, 3, 3}, at::kByte));
  }
  EXPECT_THAT(folder_.names(), ElementsAre());
}

TEST_F(VideoWriterWithScript, MistakesAreSentences) {
  VideoOptions options = script("exec cat >\"$out\"\n");
  EXPECT_SENTENCE(VideoWriter(folder_ / "x.avi", options), "as .mp4 or .gif");
  EXPECT_SENTENCE(VideoWriter(folder_ / "no/x.mp4", options), "does not exist");
  {
    VideoWriter writer(folder_ / "x.mp4", options);
    EXPECT_SENTENCE(writer.write(at::zeros({3, 2, 3}, at::kByte)), "has shape [3, 2, 3], expected");
    EXPECT_SENTENCE(writer.write(at::zeros({2, 3, 3})), "expected bytes [2, 3, 3]");
    EXPECT_SENTENCE(writer.finish(), "at least one frame");
  }
  options.fps = 0;
  EXPECT_SENTENCE(VideoWriter(folder_ / "x.mp4", options), "0 frames per second");
  options = script("");
  options.ffmpeg = "/nowhere/ffmpeg";
  EXPECT_SENTENCE(VideoWriter(folder_ / "x.mp4", options), "not installed (Debian package ffmpeg)");
  options.ffmpeg = folder_ / "";
  EXPECT_SENTENCE(VideoWriter(folder_ / "x.mp4", options), "cannot be started");
  EXPECT_THAT(folder_.names(), ElementsAre());
}

TEST(VideoWriter, ColoursComeBackFromRealVideos) {
  if (!ffmpeg_is_installed()) GTEST_SKIP() << "ffmpeg is not installed";
  const TemporaryFolder folder;
  for (const std::string name : {"x.mp4", "x.gif"}) {
    const auto colors = {std::initializer_list<int>{250, 20, 30}, {10, 200, 60}, {40, 50, 240}};
    VideoWriter writer(folder / name, {{16, 24}, 10});
    for (const auto& color : colors) writer.write(plain_frame(16, 24, color));
    writer.finish();
    const std::string pixels = decode_video(folder / name);
    ASSERT_EQ(pixels.size(), 3u * 16 * 24 * 3) << name;
    size_t at = 8 * 24 * 3;
    for (const auto& color : colors) {
      size_t channel = at;
      for (const int value : color) EXPECT_NEAR(int(uint8_t(pixels[channel++])), value, 8) << name;
      at += 16 * 24 * 3;
    }
  }
  EXPECT_EQ(read_file(folder / "x.mp4").substr(4, 4), "ftyp");
  EXPECT_EQ(read_file(folder / "x.gif").substr(0, 6), "GIF89a");
}

TEST(VideoWriter, OddSizesAreTaken) {
  if (!ffmpeg_is_installed()) GTEST_SKIP() << "ffmpeg is not installed";
  const TemporaryFolder folder;
  VideoWriter writer(folder / "x.mp4", {{15, 21}, 24});
  for (int i = 0; i < 4; ++i) writer.write(plain_frame(15, 21, {30, 60, 90}));
  writer.finish();
  EXPECT_EQ(decode_video(folder / "x.mp4").size(), 4u * 16 * 22 * 3);
}

}  // namespace
}  // namespace lact::io
