// Time on a machine that others use too.
#pragma once

#include <chrono>
#include <ctime>

#include "lact/base/threads.h"

namespace lact::models::plan {

/// Seconds since it was made. With one thread these are seconds in which this process had its core: turns of
/// other programs do not count. Threads that wait for each other have no such measure; theirs is the wall's.
class Stopwatch {
 public:
  double wall() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  double seconds() const {
    return threads_in_use() == 1 ? double(std::clock() - processor_) / CLOCKS_PER_SEC : wall();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::clock_t processor_ = std::clock();
};

}  // namespace lact::models::plan
