#include "lact/data/views/photo_scenes.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/errors.h"
#include "support/photo_folder.h"

namespace lact::data {
namespace {

using lact::testing::TemporaryFolder;
using lact::testing::write_file;
using lact::testing::write_photo_folder;

std::vector<std::string> scene_names(const std::vector<NamedPath>& scenes) {
  std::vector<std::string> names;
  for (const auto& scene : scenes) names.push_back(scene.name);
  return names;
}

class PhotoScenes : public ::testing::Test {
 protected:
  PhotoScenes() {
    for (const char* name : {"all/b", "all/a", "all/deep/er/c"}) write_photo_folder(folder_ / name, 2, 8, 8);
    std::filesystem::create_directories(folder_ / "all/nothing/here");
  }
  TemporaryFolder folder_;
};

TEST_F(PhotoScenes, AreASceneAFolderOfThemOrAList) {
  EXPECT_EQ(scene_names(find_photo_scenes({folder_ / "all/a"})), (std::vector<std::string>{"a"}));
  EXPECT_EQ(scene_names(find_photo_scenes({folder_ / "all/a/opencv_cameras.json"})),
            (std::vector<std::string>{"a"}));
  EXPECT_EQ(scene_names(find_photo_scenes({folder_ / "all"})),
            (std::vector<std::string>{"a", "b", "deep/er/c"}));
  EXPECT_EQ(scene_names(find_photo_scenes({folder_ / "all/"})),
            (std::vector<std::string>{"a", "b", "deep/er/c"}));
  write_file(folder_ / "list.json", R"(["all/b/opencv_cameras.json", "all/a"])");
  EXPECT_EQ(scene_names(find_photo_scenes({folder_ / "list.json"})),
            (std::vector<std::string>{"all/a", "all/b/opencv_cameras.json"}));
  write_file(folder_ / "list.txt", "# mine\n all/a \n\nall/deep/er/c # far\n");
  const auto listed = find_photo_scenes({folder_ / "list.txt", folder_ / "all/b"});
  EXPECT_EQ(scene_names(listed), (std::vector<std::string>{"all/a", "all/deep/er/c", "b"}));
  for (const auto& scene : listed) EXPECT_TRUE(std::filesystem::exists(scene.path)) << scene.path;
}

TEST_F(PhotoScenes, WhatIsNoneIsSaid) {
  EXPECT_SENTENCE(find_photo_scenes({folder_ / "nowhere"}), "nowhere: no such file or folder");
  EXPECT_SENTENCE(find_photo_scenes({folder_ / "all/nothing"}),
                  "neither the folder nor one below it holds cameras");
  write_file(folder_ / "list.txt", "all/a\nall/gone\n");
  EXPECT_SENTENCE(find_photo_scenes({folder_ / "list.txt"}), "all/gone, which does not exist");
  write_file(folder_ / "list.txt", "# nothing\n");
  EXPECT_SENTENCE(find_photo_scenes({folder_ / "list.txt"}), "the list of scenes is empty");
}

TEST_F(PhotoScenes, AreHeldOutByAHashOfTheirNames) {
  const auto scenes = find_photo_scenes({folder_ / "all"});
  const auto split = [&](ScenePart part, int64_t count, const std::vector<std::string>& names = {}) {
    return scene_names(split_by_name(scenes, part, count, names, "capture", "captures"));
  };
  EXPECT_EQ(split(ScenePart::kHoldout, 1).size(), 1u);
  EXPECT_EQ(split(ScenePart::kTrain, 1).size(), 2u);
  EXPECT_EQ(split(ScenePart::kTrain, 0).size(), 3u);
  // Which ones does not depend on where they are.
  std::filesystem::rename(folder_ / "all", folder_ / "elsewhere");
  const auto moved = find_photo_scenes({folder_ / "elsewhere"});
  EXPECT_EQ(scene_names(split_by_name(moved, ScenePart::kHoldout, 1, {}, "capture", "captures")),
            split(ScenePart::kHoldout, 1));
  EXPECT_EQ(split(ScenePart::kHoldout, 1, {"er/"}), (std::vector<std::string>{"deep/er/c"}));
  EXPECT_SENTENCE(split(ScenePart::kTrain, 1, {"z"}), "no capture has 'z' in its name");
  EXPECT_SENTENCE(split(ScenePart::kTrain, 3), "all 3 captures are held out");
}

TEST(NameOfCapture, IsThatOfTheFolder) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "fox/sparse/0");
  write_file(folder / "fox/transforms.json", "{}");
  for (const char* path : {"fox", "fox/", "fox/transforms.json", "fox/sparse/0"})
    EXPECT_EQ(name_of_capture(folder / path), "fox") << path;
}

}  // namespace
}  // namespace lact::data
