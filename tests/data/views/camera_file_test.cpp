#include "lact/data/views/camera_file.h"

#include <gtest/gtest.h>

#include "lact/data/views/camera_path.h"
#include "support/errors.h"
#include "support/places.h"
#include "support/temporary_folder.h"

namespace lact::data {
namespace {

using testing::TemporaryFolder;
using testing::write_file;

TEST(CameraFile, APathComesBack) {
  TemporaryFolder folder;
  const auto cameras = turntable_cameras({.num_views = 5, .width = 64, .height = 48});
  write_camera_path(folder / "path.json", cameras);
  const auto back = read_camera_path(folder / "path.json");
  ASSERT_EQ(back.size(), cameras.size());
  for (size_t i = 0; i < cameras.size(); ++i) {
    EXPECT_EQ(back[i].width, 64);
    EXPECT_EQ(back[i].height, 48);
    EXPECT_EQ(back[i].fx, cameras[i].fx);
    EXPECT_EQ(back[i].cy, 24);
    for (int row = 0; row < 4; ++row)
      for (int column = 0; column < 4; ++column)
        EXPECT_NEAR(back[i].camera_to_world[row][column], cameras[i].camera_to_world[row][column], 1e-12);
  }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"path.json"});
}

TEST(CameraFile, AnExampleByHand) {
  const auto cameras =
      read_camera_path(testing::source_folder() + "/tests/data/views/examples/opencv_cameras.json");
  ASSERT_EQ(cameras.size(), 3u);
  EXPECT_EQ(cameras[1].camera_to_world[0][3], 3);
  EXPECT_EQ(cameras[1].fx, 10);
}

TEST(CameraFile, MistakesAreASentence) {
  TemporaryFolder folder;
  const auto sentence_for = [&](const std::string& text) {
    write_file(folder / "path.json", text);
    return testing::sentence_of<Error>([&] { read_camera_path(folder / "path.json"); });
  };
  EXPECT_THAT(sentence_for("[]"),
              ::testing::HasSubstr("path.json: not a camera path: expected a list of {w, h"));
  EXPECT_THAT(sentence_for("{}"), ::testing::HasSubstr("not a camera path"));
  EXPECT_THAT(sentence_for("[5]"), ::testing::HasSubstr("path.json: view 0 is 5, expected an object"));
  EXPECT_THAT(sentence_for("[{\"w\": 8}]"), ::testing::HasSubstr("view 0 has no \"h\""));
  EXPECT_THAT(sentence_for("oops"), ::testing::HasSubstr("not valid JSON"));
  EXPECT_SENTENCE(read_camera_path(folder / "none.json"), "none.json: does not exist");
}

}  // namespace
}  // namespace lact::data
