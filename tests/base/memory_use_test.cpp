#include "lact/base/memory_use.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temporary_folder.h"

namespace lact {
namespace {

using lact::testing::TemporaryFolder;

void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

TEST(ControlGroupLimit, IsTheSmallestOfTheGroupAndThoseAroundIt) {
  const TemporaryFolder folder;
  write(folder / "groups", "0::/outer/inner\n");
  EXPECT_FALSE(control_group_limit(folder / "groups", folder / "root"));
  write(folder / "root/outer/inner/memory.max", "max\n");
  EXPECT_FALSE(control_group_limit(folder / "groups", folder / "root"));
  write(folder / "root/memory.max", "9000\n");
  EXPECT_EQ(control_group_limit(folder / "groups", folder / "root"), 9000);
  write(folder / "root/outer/memory.max", "5000\n");
  EXPECT_EQ(control_group_limit(folder / "groups", folder / "root"), 5000);
  write(folder / "root/outer/other/memory.max", "1\n");
  EXPECT_EQ(control_group_limit(folder / "groups", folder / "root"), 5000);
}

TEST(ControlGroupLimit, IsFoundInBothHierarchies) {
  const TemporaryFolder folder;
  write(folder / "groups", "4:memory:/job\n3:cpu,cpuacct:/job\n0::/\n");
  write(folder / "root/memory/job/memory.limit_in_bytes", "7000\n");
  write(folder / "root/cpu,cpuacct/job/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(control_group_limit(folder / "groups", folder / "root"), 7000);
  write(folder / "root/memory.max", "6000\n");
  EXPECT_EQ(control_group_limit(folder / "groups", folder / "root"), 6000);
}

TEST(MachineMemory, IsMoreThanThisProcessHas) {
  EXPECT_GT(machine_memory_bytes(), resident_bytes());
  EXPECT_GE(peak_resident_bytes(), resident_bytes());
}

}  // namespace
}  // namespace lact
