// A process that is killed while it saves leaves the last complete checkpoint.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "lact/base/random.h"
#include "lact/train/checkpoint.h"
#include "support/temporary_folder.h"

namespace lact::train {
namespace {

/// Every number of a checkpoint is its step, so that a mixture of two would show.
io::TensorFile of_step(int64_t step) {
  io::TensorFile file;
  for (const std::string name : {"a", "b", "c"}) file.tensors[name] = at::full({200, 1000}, step, at::kLong);
  file.metadata["step"] = std::to_string(step);
  return file;
}

/// Not a test but the process that is killed: saves for ever.
TEST(CheckpointKilled, DISABLED_SavesForEver) {
  const CheckpointFolder folder(std::getenv("LACT_KILL_TEST_FOLDER"), 2);
  const auto newest = folder.newest();
  for (int64_t step = newest ? newest->step + 1 : 1;; ++step) folder.save(step, of_step(step));
}

pid_t start_saving(const std::string& folder) {
  const pid_t child = fork();
  if (child != 0) return child;
  setenv("LACT_KILL_TEST_FOLDER", folder.c_str(), 1);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  execl(self.c_str(), self.c_str(), "--gtest_also_run_disabled_tests", "--gtest_brief=1",
        "--gtest_filter=CheckpointKilled.DISABLED_SavesForEver", static_cast<char*>(nullptr));
  _exit(1);
}

TEST(CheckpointKilled, TheLastCompleteCheckpointLoads) {
  const lact::testing::TemporaryFolder temporary;
  const std::string path = temporary / "checkpoints";
  const CheckpointFolder folder(path, 2);
  Random random(9);
  int64_t last = 0;
  for (int kill_number = 0; kill_number < 20; ++kill_number) {
    const pid_t child = start_saving(path);
    ASSERT_GT(child, 0);
    // Wait for the first save of this process, then kill it at a random point of one that follows.
    const auto saved = [&] {
      const auto found = folder.newest();
      return found && found->step > last;
    };
    for (int i = 0; i < 3000 && !saved(); ++i) usleep(5000);
    usleep(useconds_t(random.below(20000)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto found = folder.newest();
    ASSERT_TRUE(found.has_value());
    EXPECT_GT(found->step, last);
    last = found->step;
    for (const auto& [name, tensor] : found->file.tensors)
      EXPECT_TRUE(tensor.eq(last).all().item<bool>()) << name;
  }
}

}  // namespace
}  // namespace lact::train
