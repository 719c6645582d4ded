#include "lact/base/memory_use.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace lact {

namespace {

/// A line like "VmHWM:    123456 kB" of /proc/self/status.
int64_t status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != name) continue;
    int64_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

int64_t resident_bytes() { return status_bytes("VmRSS:"); }
int64_t peak_resident_bytes() { return status_bytes("VmHWM:"); }

int64_t machine_memory_bytes() {
  const int64_t machine = int64_t(sysconf(_SC_PHYS_PAGES)) * int64_t(sysconf(_SC_PAGE_SIZE));
  int64_t group = 0;  // "max", a word, means no limit
  std::ifstream limit("/sys/fs/cgroup/memory.max");
  return limit >> group && group > 0 ? std::min(machine, group) : machine;
}

// A fixed threshold: by itself it grows with the largest block freed, and the heap with it.
void return_freed_memory() { mallopt(M_MMAP_THRESHOLD, 128 * 1024); }

void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, 64 * 1024 * 1024);
}

}  // namespace lact
