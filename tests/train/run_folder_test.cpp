#include "lact/train/run_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::train {
namespace {

using lact::testing::TemporaryFolder;
using lact::testing::write_file;

/// A process that has ended.
pid_t dead_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

TEST(RunLockTest, IsHeldByOneAtATime) {
  const TemporaryFolder folder;
  const std::string run = folder / "deep/run";
  std::optional<RunLock> first(run);
  EXPECT_SENTENCE(RunLock second(run), "deep/run: another process trains in this folder");
  first.reset();
  const RunLock second(run);
}

TEST(RunLockTest, EndsWithTheProcessHoweverItEnds) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const RunLock lock(run);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_SENTENCE(RunLock second(run), "another process trains");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const RunLock lock(run);
  close(ready[0]);
  close(ready[1]);
}

TEST(RunLockTest, RemovesWhatKilledProcessesLeftAndNothingElse) {
  const TemporaryFolder folder;
  const std::string dead = std::to_string(dead_process()), alive = std::to_string(getppid());
  std::filesystem::create_directories(folder / "run/checkpoints");
  std::filesystem::create_directories(folder / "other");
  std::filesystem::create_directory_symlink(folder / "other", folder / "run/text");
  const std::vector<std::string> left = {"run/model.safetensors." + dead + "-0.tmp",
                                         "run/checkpoints/step-00000004.safetensors." + dead + "-12.tmp",
                                         "run/run.json." + std::to_string(getpid()) + "-3.tmp"};
  const std::vector<std::string> kept = {"run/notes.tmp",
                                         "run/a-1.tmp",
                                         "run/7-1.tmp",
                                         "run/checkpoints/x.7-1.txt",
                                         "run/latents.safetensors." + alive + "-0.tmp",
                                         "other/x." + dead + "-0.tmp"};
  for (const auto* names : {&left, &kept})
    for (const auto& name : *names) write_file(folder / name, "half");
  const RunLock lock(folder / "run");
  for (const auto& name : left) EXPECT_FALSE(std::filesystem::exists(folder / name)) << name;
  for (const auto& name : kept) EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
}

}  // namespace
}  // namespace lact::train
