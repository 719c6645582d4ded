// --device: what this build of LibTorch has runs, the rest is refused.
#include <ATen/Context.h>
#include <torch/cuda.h>

#include "lact/cli/device.h"
#include "lact/ops/dispatch/device.h"
#include "support/errors.h"
#include "support/program.h"

namespace lact {
namespace {

using lact::testing::expect_mistake;
using lact::testing::run_program;

TEST(DeviceOption, TheProcessorIsAlwaysThere) {
  for (const char* name : {"cpu", "cpu:0"}) EXPECT_EQ(cli::device_named(name), c10::Device(c10::kCPU));
  EXPECT_EQ(run_program("--device cpu info lm_760m_full").exit_code, 0);
}

TEST(DeviceOption, ProcessesOfOneMachineHaveAGpuEach) {
  const c10::Device any("cuda"), third("cuda:2"), processor("cpu");
  EXPECT_EQ(cli::own_device(any, 0, 4), c10::Device("cuda:0"));
  EXPECT_EQ(cli::own_device(any, 3, 4), c10::Device("cuda:3"));
  EXPECT_EQ(cli::own_device(any, 5, 4), c10::Device("cuda:1"));
  EXPECT_EQ(cli::own_device(third, 1, 4), third);
  EXPECT_EQ(cli::own_device(processor, 1, 4), processor);
}

TEST(DeviceOption, OtherWordsAreRefused) {
  // meta is a device of LibTorch, but nothing that a program could compute on.
  for (const std::string name : {"gpu", "meta", "cuda:", "cuda:x", "xla"}) {
    expect_mistake("--device " + name + " info lm_760m_full",
                   "--device is " + name + ", expected cpu, cuda, cuda:N or mps");
  }
}

TEST(DeviceOption, MetalIsRefusedWithoutIt) {
  if (at::hasMPS()) GTEST_SKIP() << "this machine has it";
  expect_mistake("--device mps info lm_760m_full", "--device is mps, but this build of LibTorch has cpu");
}

TEST(DeviceOption, WhatTheMachineLacksIsRefusedOnEveryVerb) {
  if (torch::cuda::is_available()) GTEST_SKIP() << "this machine has a GPU";
  for (const std::string verb :
       {"info lm_760m_full", "lm generate --model nowhere", "lm train", "nvs train", "nvs eval",
        "video train", "video generate -o nowhere.mp4", "bench machine", "golden"}) {
    expect_mistake(verb + " --device cuda:1", "--device is cuda:1, but this build of LibTorch has cpu");
  }
}

TEST(DeviceOption, AVerbAboutTheProcessorRefusesOthers) {
  ops::set_compute_device(c10::Device(c10::kMeta));
  EXPECT_THROW(cli::needs_processor("bench"), Error);
  ops::set_compute_device(c10::Device(c10::kCPU));
  EXPECT_NO_THROW(cli::needs_processor("bench"));
}

}  // namespace
}  // namespace lact
