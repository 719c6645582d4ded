#include "lact/bench/memory.h"

#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "lact/base/memory_use.h"

namespace lact::bench {

void give_back_freed_memory() { malloc_trim(0); }

std::optional<int64_t> extra_peak_bytes(const std::function<void()>& call) {
  give_back_freed_memory();  // freed memory that the allocator keeps would be taken again unseen
  // 5: the peak becomes what is resident now (proc(5)).
  std::ofstream reset("/proc/self/clear_refs");
  reset << "5" << std::flush;
  const bool possible = reset.good();
  const int64_t before = resident_bytes();
  call();
  if (!possible) return std::nullopt;
  return std::max<int64_t>(0, peak_resident_bytes() - before);
}

int64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    int64_t kilobytes = 0;
    if (word == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace lact::bench
