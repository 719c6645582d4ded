// LibTorch's memory on the processor, watched: how much is in use, and whether code relies on what fresh
// memory holds.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace lact::testing {

/// Lives for ever: blocks outlive the watch.
class WatchingAllocator : public c10::Allocator {
 public:
  static WatchingAllocator& instance() {
    static auto* const only = new WatchingAllocator;
    return *only;
  }

  std::atomic<int64_t> live = 0;  ///< bytes
  std::atomic<int64_t> most = 0;  ///< of them at once
  std::atomic<bool> poison = false;
  c10::Allocator* const below = c10::GetCPUAllocator();

  // LibTorch 1.13 calls the first, later versions the second.
  at::DataPtr allocate(size_t bytes) const { return take(bytes); }
  at::DataPtr allocate(size_t bytes) { return take(bytes); }
  at::DeleterFnPtr raw_deleter() const override { return give_back; }
  void copy_data(void* to, const void* from, size_t bytes) const { std::memcpy(to, from, bytes); }

 private:
  /// In front of a block, whose size it holds.
  static constexpr size_t kHeader = 64;

  static at::DataPtr take(size_t bytes) {
    if (bytes == 0) return {nullptr, nullptr, give_back, at::kCPU};
    char* header = static_cast<char*>(std::aligned_alloc(kHeader, (bytes / kHeader + 2) * kHeader));
    std::memcpy(header, &bytes, sizeof(bytes));
    if (instance().poison) std::memset(header + kHeader, 0xFF, bytes);
    const int64_t live = instance().live += int64_t(bytes);
    int64_t most = instance().most;
    while (live > most && !instance().most.compare_exchange_weak(most, live)) {
    }
    return {header + kHeader, header + kHeader, give_back, at::kCPU};
  }

  static void give_back(void* block) {
    if (block == nullptr) return;
    char* header = static_cast<char*>(block) - kHeader;
    size_t bytes = 0;
    std::memcpy(&bytes, header, sizeof(bytes));
    instance().live -= int64_t(bytes);
    std::free(header);
  }
};

/// While it lives, tensors are counted.
class WatchedMemory {
 public:
  WatchedMemory() : start_(watching().live) {
    watching().most = start_;
    c10::SetCPUAllocator(&watching(), kPriority);
  }
  ~WatchedMemory() { c10::SetCPUAllocator(watching().below, kPriority); }

  /// Bytes of the tensors made since the beginning that still live.
  int64_t live_bytes() const { return watching().live - start_; }
  /// Of these, the most at once.
  int64_t peak_bytes() const { return watching().most - start_; }

 protected:
  static WatchingAllocator& watching() { return WatchingAllocator::instance(); }

 private:
  static constexpr uint8_t kPriority = 100;
  int64_t start_;
};

/// The same, with every fresh tensor full of NaN (all bits set, in any floating type) and other fresh memory
/// of the C library full of huge numbers (0x7F in every byte).
class PoisonedMemory : public WatchedMemory {
 public:
  PoisonedMemory() {
    watching().poison = true;
    mallopt(M_PERTURB, 0x80);
  }
  ~PoisonedMemory() {
    watching().poison = false;
    mallopt(M_PERTURB, 0);
  }
};

/// Runs `function`, which returns tensors, in poisoned and in ordinary memory, and expects the same bits, all
/// of them finite.
template <class Function>
void expect_same_in_poisoned_memory(const Function& function) {
  std::vector<at::Tensor> found;
  {
    const PoisonedMemory poisoned;
    ASSERT_TRUE(at::empty({64}).isnan().all().template item<bool>());
    found = function();
  }
  const std::vector<at::Tensor> wanted = function();
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_TRUE(at::isfinite(found[i]).all().template item<bool>()) << "tensor " << i;
    EXPECT_TRUE(at::equal(found[i], wanted[i])) << "tensor " << i;
  }
}

}  // namespace lact::testing
