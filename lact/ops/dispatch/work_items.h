// Shares out independent pieces of work among LibTorch's threads.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace lact::ops {

#if defined(__SANITIZE_THREAD__)
// The thread sanitizer knows what order threads of the standard library keep, but not those of OpenMP: it
// would report every barrier's work as a race.
inline int64_t num_workers() { return 4; }

template <class Body>
void run_workers(int64_t workers, const Body& body) {
  std::vector<std::jthread> threads;
  for (int64_t worker = 0; worker < workers; ++worker)
    threads.emplace_back([&body, worker] { body(worker); });
}
#else
/// How many work at once: the number of different `worker`s that for_each_item hands out.
inline int64_t num_workers() { return at::get_num_threads(); }

template <class Body>
void run_workers(int64_t workers, const Body& body) {
  at::parallel_for(0, workers, 1, [&](int64_t begin, int64_t end) {
    for (int64_t worker = begin; worker < end; ++worker) body(worker);
  });
}
#endif

/// Calls body(item, worker) for every item below `count`. A worker takes the next item when it is free, so
/// that a core that others use too does not hold up the rest; items must therefore not depend on who runs
/// them.
template <class Body>
void for_each_item(int64_t count, const Body& body) {
  if (count <= 0) return;
  const int64_t workers = std::min(count, num_workers());
  std::atomic<int64_t> next = 0;
  run_workers(workers, [&](int64_t worker) {
    for (int64_t item = next++; item < count; item = next++) body(item, worker);
  });
}

/// Pieces of work of several kinds that do not depend on each other: all cores take from all of them.
class WorkList {
 public:
  /// body(item, worker) for every item below `count`, as soon as run() is called.
  void add(int64_t count, std::function<void(int64_t, int64_t)> body) {
    if (count <= 0) return;
    kinds_.push_back({count, std::move(body)});
    total_ += count;
  }

  /// Does what was added, in about that order, and forgets it.
  void run() {
    for_each_item(total_, [&](int64_t item, int64_t worker) {
      auto kind = kinds_.begin();
      for (; item >= kind->count; ++kind) item -= kind->count;
      kind->body(item, worker);
    });
    kinds_.clear();
    total_ = 0;
  }

 private:
  struct Kind {
    int64_t count;
    std::function<void(int64_t, int64_t)> body;
  };
  std::vector<Kind> kinds_;
  int64_t total_ = 0;
};

}  // namespace lact::ops
