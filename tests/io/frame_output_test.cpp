#include "lact/io/frame_output.h"

#include <ATen/ATen.h>

#include "lact/io/png.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::io {
namespace {

using lact::testing::TemporaryFolder;
using lact::testing::write_file;
using ::testing::ElementsAre;
namespace fs = std::filesystem;

at::Tensor grey(int value, int64_t height = 4, int64_t width = 6) {
  return at::full({height, width, 3}, value, at::kByte);
}

TEST(FrameOutput, AFolderGetsNumberedFramesOfAnySize) {
  const TemporaryFolder folder;
  const std::string frames = folder / "new/frames";
  FrameOutput output(frames, {{4, 6}, {2, 2}}, 30);
  output.write(grey(7));
  EXPECT_TRUE(read_image(frames + "/frame-00000.png").equal(grey(7)));
  output.write(grey(9, 2, 2));
  output.finish();
  EXPECT_TRUE(read_image(frames + "/frame-00001.png").equal(grey(9, 2, 2)));
}

TEST(FrameOutput, FramesOfTwoSequencesDoNotMix) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "frames.v1");
  write_file(folder / "frames.v1/notes.txt", "mine");
  FrameOutput output(folder / "frames.v1", {{4, 6}}, 30);
  output.write(grey(7));
  EXPECT_SENTENCE(check_frame_output(folder / "frames.v1"), "holds frames already, such as frame-00000.png");
  EXPECT_SENTENCE(FrameOutput(folder / "frames.v1", {{4, 6}}, 30), "holds frames already");
}

TEST(FrameOutput, OtherPicturesInTheFolderAreNoObstacle) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "frames");
  write_png(folder / "frames/photo.png", grey(3));
  write_file(folder / "frames/frame-notes.txt", "mine");
  FrameOutput(folder / "frames", {{4, 6}}, 30).write(grey(7));
  EXPECT_TRUE(read_image(folder / "frames/photo.png").equal(grey(3)));
}

TEST(FrameOutput, APictureAppearsInTheEnd) {
  const TemporaryFolder folder;
  FrameOutput output(folder / "one.png", {{4, 6}}, 30);
  output.write(grey(3));
  EXPECT_THAT(folder.names(), ElementsAre());
  output.finish();
  EXPECT_TRUE(read_image(folder / "one.png").equal(grey(3)));
  EXPECT_SENTENCE(FrameOutput(folder / "two.png", {{4, 6}, {4, 6}}, 30), "2 frames do not fit");
}

TEST(FrameOutput, MistakesAreSentencesAndLeaveNothing) {
  const TemporaryFolder folder;
  EXPECT_SENTENCE(check_frame_output(""), "empty");
  EXPECT_SENTENCE(check_frame_output(folder / "x.avi"), "not to .avi");
  EXPECT_SENTENCE(check_frame_output(folder / "no/x.mp4"), "does not exist");
  EXPECT_SENTENCE(FrameOutput(folder / "x.mp4", {{4, 6}, {4, 8}}, 30),
                  "frame 0 is 4 x 6 pixels and frame 1 is 4 x 8");
  EXPECT_SENTENCE(FrameOutput(folder / "frames", {}, 30), "no frames to write");
  EXPECT_THAT(folder.names(), ElementsAre());
  write_file(folder / "file", "");
  EXPECT_SENTENCE(check_frame_output(folder / "file"), "is not a folder");
  EXPECT_SENTENCE(FrameOutput(folder / "file/frames", {{4, 6}}, 30), "cannot be created");
}

}  // namespace
}  // namespace lact::io
