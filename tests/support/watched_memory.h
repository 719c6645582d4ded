// LibTorch's memory on the processor, watched: how much is in use, and whether code relies on what fresh
// memory holds.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstring>
#include <vector>

namespace lact::testing {

/// Lives for ever: blocks outlive the watch.
class WatchingAllocator : public c10::Allocator {
 public:
  static WatchingAllocator& instance() {
    static auto* const only = new WatchingAllocator(c10::GetCPUAllocator());
    return *only;
  }

  std::atomic<int64_t> live = 0;  ///< bytes
  std::atomic<bool> poison = false;
  c10::Allocator* const below;

  // LibTorch 1.13 calls the first, later versions the second.
  at::DataPtr allocate(size_t bytes) const { return const_cast<WatchingAllocator*>(this)->take(bytes); }
  at::DataPtr allocate(size_t bytes) { return take(bytes); }
  void copy_data(void* to, const void* from, size_t bytes) const { std::memcpy(to, from, bytes); }

 private:
  struct Block {
    at::DataPtr memory;
    std::atomic<int64_t>& live;
    int64_t bytes;
    ~Block() { live -= bytes; }
  };

  explicit WatchingAllocator(c10::Allocator* under) : below(under) {}

  at::DataPtr take(size_t bytes) {
    at::DataPtr memory = below->allocate(bytes);
    if (poison && bytes > 0) std::memset(memory.get(), 0xFF, bytes);
    live += int64_t(bytes);
    auto* block = new Block{std::move(memory), live, int64_t(bytes)};
    return {block->memory.get(), block, [](void* own) { delete static_cast<Block*>(own); }, at::kCPU};
  }
};

/// While it lives, tensors are counted.
class WatchedMemory {
 public:
  WatchedMemory() : start_(watching().live) { c10::SetCPUAllocator(&watching(), kPriority); }
  ~WatchedMemory() { c10::SetCPUAllocator(watching().below, kPriority); }

  /// Bytes of the tensors made since the beginning that still live.
  int64_t live_bytes() const { return watching().live - start_; }

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
