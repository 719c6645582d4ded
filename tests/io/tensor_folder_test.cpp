#include "lact/io/tensor_folder.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>

#include "lact/base/error.h"
#include "lact/base/options.h"
#include "support/temporary_folder.h"

namespace lact::io {
namespace {

using lact::testing::TemporaryFolder;

constexpr int64_t kSmallShard = 8 * 1000;

/// Every number is the step, so that a mixture of two would show; each tensor fills a file.
std::map<std::string, at::Tensor> of_step(int64_t step, int64_t count = 4) {
  std::map<std::string, at::Tensor> tensors;
  for (int64_t i = 0; i < count; ++i) tensors[fmt::format("tensor{}", i)] = at::full({1000}, step, at::kLong);
  return tensors;
}

/// The step that all tensors are of.
int64_t step_in(const TemporaryFolder& folder) {
  const auto tensors = read_tensor_folder(folder / "");
  const int64_t step = tensors.begin()->second[0].item<int64_t>();
  for (const auto& [name, tensor] : tensors) EXPECT_TRUE(tensor.eq(step).all().item<bool>()) << name;
  return step;
}

std::set<std::string> named_files(const TemporaryFolder& folder) {
  std::set<std::string> files = {"model.safetensors.index.json"};
  const auto json = options::read_json_file(folder / "model.safetensors.index.json");
  for (const auto& item : json["weight_map"].items()) files.insert(item.value().get<std::string>());
  return files;
}

TEST(TensorFolder, SavesFollowEachOtherAndLeaveNothingBehind) {
  const TemporaryFolder folder;
  for (const int64_t step : {1, 2, 3, 4}) {
    const int64_t shards = step == 4 ? 3 : 4;
    write_tensor_folder(folder / "", of_step(step, shards), kSmallShard);
    EXPECT_EQ(step_in(folder), step);
    const auto names = folder.names();
    const auto expected = named_files(folder);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), expected);
    EXPECT_EQ(expected.size(), size_t(shards + 1));
    EXPECT_EQ(expected.count("model-00002-of-00004.safetensors"), step % 2 == 1 && shards == 4 ? 1u : 0u);
  }
  write_tensor_folder(folder / "", of_step(5), 1 << 20);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"model.safetensors"}));
  EXPECT_EQ(step_in(folder), 5);
}

TEST(TensorFolder, ASaveThatFailsHalfwayLeavesTheOldTensors) {
  const TemporaryFolder folder;
  write_tensor_folder(folder / "", of_step(1), kSmallShard);
  auto next = of_step(2);
  next["tensor3"] = at::zeros({1000}, at::kComplexDouble);  // which no safetensors file can hold
  EXPECT_THROW(write_tensor_folder(folder / "", next, kSmallShard), Error);
  EXPECT_EQ(step_in(folder), 1);
  write_tensor_folder(folder / "", of_step(3), kSmallShard);
  EXPECT_EQ(step_in(folder), 3);
  EXPECT_EQ(folder.names().size(), 5u);
}

TEST(TensorFolder, AKillAtAnyPointLeavesOneStep) {
  const TemporaryFolder folder;
  write_tensor_folder(folder / "", of_step(1), kSmallShard);
  int64_t last = 1;
  for (int kill_number = 0; kill_number < 20; ++kill_number) {
    const std::string before = lact::testing::read_file(folder / "model.safetensors.index.json");
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int64_t step = last + 1;; ++step) write_tensor_folder(folder / "", of_step(step), kSmallShard);
    }
    // Wait for the first save of this process, then kill it at some point of one that follows.
    const auto index = [&] { return lact::testing::read_file(folder / "model.safetensors.index.json"); };
    for (int i = 0; i < 3000 && index() == before; ++i) usleep(2000);
    usleep(useconds_t(700 * kill_number));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const int64_t step = step_in(folder);
    EXPECT_GT(step, last);
    last = step;
  }
}

}  // namespace
}  // namespace lact::io
