#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "lact/models/lm/folder.h"
#include "lact/models/lm/presets.h"
#include "lact/models/presets.h"
#include "support/places.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace lact::models {
namespace {

namespace fs = std::filesystem;

fs::path config_folder() { return fs::path(testing::source_folder()) / "configs"; }

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Presets, AllArePossible) {
  for (const auto& preset : presets()) EXPECT_NO_THROW(resolve_config(preset.name)) << preset.name;
}

// A red test here after changing a preset: `lact info NAME --export configs/NAME.json`.
TEST(Presets, EachIsTheFileOfItsName) {
  for (const auto& preset : presets()) {
    const fs::path file = config_folder() / (preset.name + ".json");
    EXPECT_EQ(text_of(file), config_text(preset.make())) << file;
    EXPECT_EQ(resolve_config(file.string()), preset.make()) << file;
  }
}

TEST(Presets, NoFileIsWithoutPreset) {
  std::set<std::string> names, files;
  for (const auto& preset : presets()) names.insert(preset.name);
  for (const auto& entry : fs::directory_iterator(config_folder()))
    if (entry.is_regular_file()) files.insert(entry.path().stem());
  EXPECT_EQ(files, names);
}

TEST(Presets, NamesBeginWithTheirTask) {
  for (const auto& preset : presets()) {
    EXPECT_TRUE(preset.name.starts_with(options::word_of(task_of(preset.make())))) << preset.name;
  }
}

TEST(Presets, UnknownNameNamesTheNearest) {
  EXPECT_SENTENCE(preset("lm_760"), "did you mean lm_760m?");
  EXPECT_SENTENCE(preset("a completely different thing"), "there are lm_tiny, ");
}

TEST(Presets, AssignmentsApplyInOrder) {
  const auto config =
      std::get<LmConfig>(resolve_config("lm_tiny", {"num_layers=2", "chunk_size=64", "num_layers=3"}));
  LmConfig expected = lm_tiny();
  expected.num_layers = 3;
  expected.chunk_size = 64;
  EXPECT_EQ(config, expected);
}

TEST(Presets, FileMayMentionOnlyWhatItChanges) {
  const auto config = std::get<VideoConfig>(read_config({{"task", "video"}, {"num_layers", 2}}));
  VideoConfig expected;
  expected.num_layers = 2;
  EXPECT_EQ(config, expected);
}

TEST(Presets, FileNeedsAKnownTask) {
  const options::Json without = {{"num_layers", 2}}, unknown = {{"task", "music"}};
  EXPECT_SENTENCE(read_config(without, "mine.json"), "mine.json: has no field task (lm, nvs or video)");
  EXPECT_SENTENCE(read_config(unknown), "expected one of lm, nvs, video");
  EXPECT_SENTENCE(read_config(options::Json::array()), "expected an object");
}

TEST(Presets, OnlyAPathOrAFolderThatIsNoPresetIsRead) {
  const lact::testing::TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder / "");
  fs::create_directories("lm_tiny");
  fs::create_directories("run");
  LmConfig config = lm_tiny();
  config.num_layers = 3;
  save_lm_config("run", config);
  save_lm_config("lm_tiny", config);
  EXPECT_EQ(resolve_config("lm_tiny"), ModelConfig(lm_tiny()));
  for (const char* name : {"run", "run/config.json", "./lm_tiny"}) {
    EXPECT_EQ(resolve_config(name), ModelConfig(config)) << name;
  }
  fs::current_path(before);
}

TEST(Presets, MistakeInAFileNamesTheFile) {
  const std::string file = ::testing::TempDir() + "presets_test_mistake.json";
  std::ofstream(file) << R"({"task": "lm", "num_layer": 2})";
  EXPECT_SENTENCE(resolve_config(file), file);
  EXPECT_SENTENCE(resolve_config(file), "did you mean num_layers?");
  fs::remove(file);
  EXPECT_SENTENCE(resolve_config(file), "cannot be opened");
}

}  // namespace
}  // namespace lact::models
