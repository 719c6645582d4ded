#include "lact/data/clips/clip_files.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::data {
namespace {

using lact::testing::TemporaryFolder;
using lact::testing::write_file;
using ::testing::ElementsAre;

std::vector<std::string> names_of(const std::vector<ClipFile>& files) {
  std::vector<std::string> names;
  for (const ClipFile& file : files) names.push_back(std::filesystem::path(file.path).filename().string());
  return names;
}

class ClipFiles : public ::testing::Test {
 protected:
  void add(const std::string& name, const std::string& text = "") {
    std::filesystem::create_directories(std::filesystem::path(folder_ / name).parent_path());
    write_file(folder_ / name, text);
  }

  TemporaryFolder folder_;
};

TEST_F(ClipFiles, CaptionsStandBesideClips) {
  add("b/one.mp4");
  add("b/one.txt", "  A man\nrides a  horse. \n");
  add("b/two.GIF");
  add("b/two.txt", "Two");
  add("a/frames/0.png");
  add("a/frames/1.jpeg");
  add("a/frames.txt", "Frames beside");
  add("a/others/0.JPG");
  add("a/others/caption.txt", "Frames within");
  add("notes.md", "not a clip");
  const auto files = find_clip_files({folder_ / ""}, false);
  EXPECT_THAT(names_of(files), ElementsAre("frames", "others", "one.mp4", "two.GIF"));
  EXPECT_EQ(files[0].caption, "Frames beside");
  EXPECT_EQ(files[1].caption, "Frames within");
  EXPECT_EQ(files[2].caption, "A man rides a horse.");
  EXPECT_TRUE(files[0].is_folder);
  EXPECT_FALSE(files[2].is_folder);
  EXPECT_THAT(names_of(find_clip_files({folder_ / "b/two.GIF", folder_ / "a/frames/"}, false)),
              ElementsAre("two.GIF", "frames"));
}

TEST_F(ClipFiles, ListsGiveCaptions) {
  add("videos/a.mp4");
  add("videos/-b.avi");
  add("videos/-b.txt", "from the text");
  add("videos/frames/0.png");
  add("list.jsonl",
      "{\"video\": \"videos/a.mp4\", \"caption\": \"Ein H\\u00fcgel\", \"fps\": 3}\n\n"
      "{\"video\": \"videos/-b.avi\"}\r\n{\"video\": \"videos/frames\", \"caption\": \"f\"}");
  const auto files = find_clip_files({folder_ / "list.jsonl"}, false);
  EXPECT_THAT(names_of(files), ElementsAre("a.mp4", "-b.avi", "frames"));
  EXPECT_EQ(files[0].caption, "Ein Hügel");
  EXPECT_EQ(files[1].caption, "from the text");
  EXPECT_TRUE(files[2].is_folder);
}

TEST_F(ClipFiles, AMissingCaptionIsASentenceUnlessItMayBeEmpty) {
  add("a.mp4");
  EXPECT_SENTENCE(find_clip_files({folder_ / "a.mp4"}, false),
                  "a.mp4: the clip has no caption: write one to " + folder_ / "a.txt");
  add("b.txt", " \n");
  add("b.mp4");
  EXPECT_SENTENCE(find_clip_files({folder_ / "b.mp4"}, false), "b.mp4: the clip has no caption");
  EXPECT_EQ(find_clip_files({folder_ / ""}, true).size(), 2U);
  EXPECT_EQ(find_clip_files({folder_ / ""}, true)[0].caption, "");
  add("list.jsonl", "{\"video\": \"a.mp4\"}");
  EXPECT_SENTENCE(find_clip_files({folder_ / "list.jsonl"}, false),
                  "list.jsonl: line 1: the clip has no caption");
}

TEST_F(ClipFiles, BadListsAreSentences) {
  add("a.mp4");
  const auto expect = [&](const std::string& text, const std::string& sentence) {
    add("list.jsonl", text);
    EXPECT_SENTENCE(find_clip_files({folder_ / "list.jsonl"}, false), sentence);
  };
  expect("", "list.jsonl: the list names no clip");
  expect("\nnonsense", "list.jsonl: line 2 is not a JSON object");
  expect("[1]", "line 1 is not a JSON object");
  expect("{\"caption\": \"x\"}", "line 1 has no \"video\"");
  expect("{\"video\": 3}", "line 1 has no \"video\"");
  expect("{\"video\": \"a.mp4\", \"caption\": 3}", "\"caption\" is not a string");
  expect("{\"video\": \"no.mp4\", \"caption\": \"x\"}", "no.mp4 does not exist");
  add("a.txt", "\xff");
  EXPECT_SENTENCE(find_clip_files({folder_ / "a.mp4"}, false), "a.txt: byte 0 (0xff) of the caption");
}

TEST_F(ClipFiles, PlacesWithoutClipsAreSentences) {
  add("notes.md");
  EXPECT_SENTENCE(find_clip_files({}, false), "no clips are given");
  EXPECT_SENTENCE(find_clip_files({folder_ / "no"}, false), "no: does not exist");
  EXPECT_SENTENCE(find_clip_files({folder_ / ""}, false), "holds neither videos nor");
  EXPECT_SENTENCE(find_clip_files({folder_ / "notes.md"}, false), "notes.md: is neither a video");
  EXPECT_SENTENCE(find_frames(folder_ / ""), "holds no PNG or JPEG frame");
}

TEST_F(ClipFiles, FramesAreInTheOrderOfTheirNumbers) {
  for (const std::string name : {"f10.png", "f9.png", "f009b.png", "f1.png", "f02.jpg", "x.txt"}) add(name);
  std::vector<std::string> names;
  for (const std::string& path : find_frames(folder_ / ""))
    names.push_back(std::filesystem::path(path).filename().string());
  EXPECT_THAT(names, ElementsAre("f1.png", "f02.jpg", "f9.png", "f009b.png", "f10.png"));
}

TEST(ClipSplit, PartsAreDisjointCompleteAndStable) {
  std::vector<ClipFile> files, moved;
  for (int i = 0; i < 40; ++i) {
    files.push_back({"a/" + std::to_string(i) + ".mp4", false, ""});
    moved.push_back({"other/place/" + std::to_string(i) + ".mp4", false, ""});
  }
  const auto train = split_clip_files(files, ClipPart::train, 0.2);
  const auto valid = split_clip_files(files, ClipPart::valid, 0.2);
  EXPECT_EQ(valid.size(), 8U);
  EXPECT_EQ(train.size(), 32U);
  for (const ClipFile& file : valid)
    for (const ClipFile& other : train) EXPECT_NE(file.path, other.path);
  EXPECT_EQ(names_of(split_clip_files(moved, ClipPart::valid, 0.2)), names_of(valid));
  EXPECT_EQ(split_clip_files({files[0], files[1]}, ClipPart::valid, 0.01).size(), 1U);
  EXPECT_SENTENCE(split_clip_files({files[0]}, ClipPart::valid, 0.5), "0.mp4 is the only clip");
  EXPECT_SENTENCE(split_clip_files(files, ClipPart::valid, 1), "share for validation is 1");
}

TEST_F(ClipFiles, AVideoThatIsListedTwiceIsInOnePart) {
  const TemporaryFolder& folder = folder_;
  std::vector<ClipFile> files;
  for (int i = 0; i < 10; ++i) {
    const std::string name = std::to_string(i) + ".mp4";
    write_file(folder / name, "");
    std::filesystem::create_symlink(folder / name, folder / ("link" + name));
    files.push_back({folder / name, false, "first caption"});
    files.push_back({folder / ("./" + name), false, "second caption"});
    files.push_back({folder / name, false, "third caption"});
    files.push_back({folder / ("link" + name), false, "by another name"});
  }
  const auto train = split_clip_files(files, ClipPart::train, 0.3),
             valid = split_clip_files(files, ClipPart::valid, 0.3);
  EXPECT_EQ(valid.size(), 4 * 3u);
  EXPECT_EQ(train.size() + valid.size(), files.size());
  for (const ClipFile& file : valid)
    for (const ClipFile& other : train)
      EXPECT_FALSE(std::filesystem::equivalent(file.path, other.path)) << file.path;
  EXPECT_SENTENCE(split_clip_files({files[0], files[2]}, ClipPart::valid, 0.5), "0.mp4 is the only clip");
}

}  // namespace
}  // namespace lact::data
