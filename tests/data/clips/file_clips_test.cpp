#include "lact/data/clips/file_clips.h"

#include <ATen/ATen.h>

#include <filesystem>
#include <set>

#include "lact/io/png.h"
#include "lact/io/video_writer.h"
#include "support/errors.h"
#include "support/ffmpeg.h"
#include "support/temporary_folder.h"

namespace lact::data {
namespace {

using lact::testing::ffmpeg_is_installed;
using lact::testing::TemporaryFolder;
using lact::testing::write_file;

/// Frame i is grey of brightness 10 i.
at::Tensor ramp_frame(int64_t i, int64_t height, int64_t width) {
  return at::full({height, width, 3}, 10 * i, at::kByte);
}

std::vector<int> levels(const Clip& clip) {
  std::vector<int> result;
  for (int64_t i = 0; i < clip.frames.size(0); ++i)
    result.push_back(int(clip.frames[i].to(at::kFloat).mean().item<double>() / 10 + 0.5));
  return result;
}

std::vector<int> counting(int first, int step, int count) {
  std::vector<int> result;
  for (int i = 0; i < count; ++i) result.push_back(first + i * step);
  return result;
}

class FrameFolders : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string name : {"a", "b", "c"}) {
      std::filesystem::create_directories(folder_ / name);
      for (int64_t i = 0; i < 20; ++i)
        io::write_png(folder_ / name + "/" + std::to_string(i) + ".png", ramp_frame(i, 12, 20));
      write_file(folder_ / name + ".txt", "clip " + name);
    }
    options_.paths = {folder_ / ""};
    options_.valid_share = 0.3;
    options_.folder_fps = 10;
  }

  FileClips clips(const ClipShape& shape = {5, 8, 8}) {
    return FileClips(options_, shape, 1, ClipPart::train);
  }

  TemporaryFolder folder_;
  FileClipsOptions options_;
};

TEST_F(FrameFolders, AnIndexAlwaysMeansTheSameClip) {
  const FileClips source = clips(), again = clips();
  EXPECT_EQ(source.num_files(), 2);
  std::set<int> starts;
  for (uint64_t index = 0; index < 30; ++index) {
    const Clip clip = source.clip(index);
    EXPECT_EQ(clip.frames.sizes(), (at::IntArrayRef{5, 3, 8, 8}));
    EXPECT_EQ(clip.fps, 10);
    EXPECT_EQ(clip.caption, source.caption(index));
    EXPECT_TRUE(clip.frames.equal(again.clip(index).frames));
    EXPECT_EQ(source.identity(index), again.identity(index));
    const auto shown = levels(clip);
    EXPECT_EQ(shown, counting(shown[0], 1, 5));
    starts.insert(shown[0]);
    if (index % 2 == 0) {
      EXPECT_NE(source.caption(index), source.caption(index + 1)) << "each file once";
    }
  }
  EXPECT_GT(starts.size(), 8U);
  EXPECT_LE(*starts.rbegin(), 15);
  const FileClips valid(options_, {5, 8, 8}, 1, ClipPart::valid);
  EXPECT_EQ(valid.num_files(), 1);
  for (uint64_t index = 0; index < 4; ++index) EXPECT_NE(valid.caption(0), source.caption(index));
}

TEST_F(FrameFolders, TheRateLeavesFramesOutOrRepeatsThem) {
  options_.stretches = 1;
  options_.fps = 5;
  const FileClips half = clips({10, 8, 8});
  EXPECT_EQ(levels(half.clip(0)), counting(0, 2, 10));
  EXPECT_EQ(half.clip(0).fps, 5);
  options_.fps = 20;
  EXPECT_EQ(levels(clips({6, 8, 8}).clip(0)), (std::vector{8, 9, 9, 10, 10, 11}));
}

TEST_F(FrameFolders, StretchesAreFewWhereACacheIsToHoldThem) {
  options_.stretches = 3;
  const FileClips source = clips();
  std::set<int> starts;
  std::set<std::string> identities;
  for (uint64_t index = 0; index < 60; ++index) {
    starts.insert(levels(source.clip(index))[0]);
    identities.insert(source.identity(index));
  }
  EXPECT_EQ(starts, (std::set{0, 7, 15}));
  EXPECT_EQ(identities.size(), 6U);
}

TEST_F(FrameFolders, AFileWrittenAnewIsAnotherOne) {
  options_.stretches = 1;
  const FileClips source = clips();
  const std::string before = source.identity(0);
  const std::string frame = source.file(0).path + "/3.png";
  io::write_png(frame, ramp_frame(9, 40, 40));
  EXPECT_NE(source.identity(0), before);
}

TEST_F(FrameFolders, ShortFilesAreRefusedOrHeld) {
  EXPECT_SENTENCE(clips({21, 8, 8}).clip(0),
                  "the file has 20 frames at 10 frames per second, expected at least 21");
  options_.short_clips = ShortClips::hold;
  const auto shown = levels(clips({22, 8, 8}).clip(0));
  EXPECT_EQ(shown[19], 19);
  EXPECT_EQ(shown[21], 19);
}

TEST_F(FrameFolders, OptionsAndBrokenFramesAreSentences) {
  EXPECT_SENTENCE(clips({0, 8, 8}), "a clip of 0 frames");
  options_.fps = -1;
  EXPECT_SENTENCE(clips(), "fps is -1");
  options_.fps = 0;
  options_.folder_fps = 0;
  EXPECT_SENTENCE(clips(), "folder_fps is 0, expected more than 0");
  options_.folder_fps = 10;
  const FileClips source = clips({20, 8, 8});
  write_file(source.file(0).path + "/3.png", "no picture");
  EXPECT_SENTENCE(source.clip(0), "3.png: is neither a PNG nor a JPEG picture");
}

TEST(FileClips, StretchesOfVideos) {
  if (!ffmpeg_is_installed()) GTEST_SKIP() << "ffmpeg is not installed";
  const TemporaryFolder folder;
  for (const std::string name : {"a", "b"}) {
    io::VideoWriter writer(folder / (name + ".mp4"), {{32, 48}, 10});
    for (int64_t i = 0; i < 20; ++i) writer.write(ramp_frame(i, 32, 48));
    writer.finish();
  }
  FileClipsOptions options;
  options.paths = {folder / ""};
  options.valid_share = 0.5;
  EXPECT_SENTENCE(FileClips(options, {5, 16, 16}, 1, ClipPart::train), "has no caption");
  options.allow_empty_captions = true;
  const FileClips clips(options, {5, 16, 16}, 1, ClipPart::train);
  for (uint64_t index = 0; index < 3; ++index) {
    const Clip clip = clips.clip(index);
    EXPECT_EQ(clip.frames.sizes(), (at::IntArrayRef{5, 3, 16, 16}));
    EXPECT_EQ(clip.caption, "");
    const auto shown = levels(clip);
    EXPECT_EQ(shown, counting(shown[0], 1, 5));
  }
  EXPECT_EQ(levels(FileClips(options, {20, 16, 16}, 1, ClipPart::train).clip(0)), counting(0, 1, 20));
  EXPECT_SENTENCE(FileClips(options, {21, 16, 16}, 1, ClipPart::train).clip(0), "has 20 frames at 10 frames");
  write_file(folder / "a.mp4", "broken");
  write_file(folder / "b.mp4", "broken");
  EXPECT_SENTENCE(FileClips(options, {5, 16, 16}, 1, ClipPart::train).clip(0),
                  ".mp4: the video cannot be read");
}

}  // namespace
}  // namespace lact::data
