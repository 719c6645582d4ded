// Shares out independent pieces of work among LibTorch's threads.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace lact::ops {

/// How many work at once: the number of different `worker`s that for_each_item hands out.
inline int64_t num_workers() { return at::get_num_threads(); }

/// Calls body(item, worker) for every item below `count`. A worker takes the next item when it is free, so
/// that a core that others use too does not hold up the rest; items must therefore not depend on who runs
/// them.
template <class Body>
void for_each_item(int64_t count, const Body& body) {
  if (count <= 0) return;
  const int64_t workers = std::min(count, num_workers());
  std::atomic<int64_t> next = 0;
  at::parallel_for(0, workers, 1, [&](int64_t begin, int64_t end) {
    for (int64_t worker = begin; worker < end; ++worker) {
      for (int64_t item = next++; item < count; item = next++) body(item, worker);
    }
  });
}

}  // namespace lact::ops
