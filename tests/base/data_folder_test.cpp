#include "lact/base/data_folder.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace lact {
namespace {

using lact::testing::TemporaryFolder;
using lact::testing::write_file;
namespace fs = std::filesystem;

const DataFolder kWeights = {"weights/toy", "weights/toy", "config.json"};

TEST(DataFolder, IsFoundInASourceTreeAndWhereItIsInstalled) {
  for (const std::string place : {"weights/toy", "share/lact/weights/toy"}) {
    const TemporaryFolder root;
    fs::create_directories(root / "build/release/bin");
    const std::string program = root / "build/release/bin/lact";
    EXPECT_EQ(find_data_folder_above(program, kWeights), "");
    fs::create_directories(root / place);
    EXPECT_EQ(find_data_folder_above(program, kWeights), "") << "without its file it is another folder";
    write_file(root / place + "/config.json", "{}");
    EXPECT_EQ(find_data_folder_above(program, kWeights), root / place);
  }
}

TEST(DataFolder, TheNearestOneCounts) {
  const TemporaryFolder root;
  for (const std::string above : {"", "inner/"}) {
    fs::create_directories(root / above + "weights/toy");
    write_file(root / above + "weights/toy/config.json", "{}");
  }
  EXPECT_EQ(find_data_folder_above(root / "inner/bin/lact", kWeights), root / "inner/weights/toy");
  EXPECT_EQ(find_data_folder_above(root / "lact", kWeights), root / "weights/toy");
}

TEST(DataFolder, IsLookedForAboveTheProgram) {
  // The tests run from a build folder of the source tree, or in it.
  const std::string found = find_data_folder({"bench/peers", "peers", "serve.py"});
  if (found.empty()) GTEST_SKIP() << "the test program was built outside the source tree";
  EXPECT_TRUE(fs::exists(fs::path(found) / "serve.py"));
}

}  // namespace
}  // namespace lact
