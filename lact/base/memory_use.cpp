#include "lact/base/memory_use.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
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
  return std::min(machine, control_group_limit().value_or(machine));
}

std::optional<int64_t> control_group_limit(const std::string& groups, const std::string& root) {
  namespace fs = std::filesystem;
  std::optional<int64_t> smallest;
  const auto look = [&](fs::path folder, const fs::path& top, const char* name) {
    for (;; folder = folder.parent_path()) {
      std::ifstream file(folder / name);
      int64_t limit = 0;  // "max", a word, means no limit
      if (file >> limit && limit > 0) smallest = std::min(limit, smallest.value_or(limit));
      if (folder == top || !folder.has_relative_path()) return;
    }
  };
  std::ifstream lines(groups);
  for (std::string line; std::getline(lines, line);) {  // hierarchy:controllers:/path
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path path = fs::path(line.substr(second + 1)).lexically_normal().relative_path();
    const fs::path top = controllers.empty() ? fs::path(root) : fs::path(root) / "memory";
    const fs::path folder = path.empty() || path == "." ? top : top / path;
    if (controllers.empty()) look(folder, top, "memory.max");
    if (controllers == "memory") look(folder, top, "memory.limit_in_bytes");
  }
  return smallest;
}

// A fixed threshold: by itself it grows with the largest block freed, and the heap with it.
void return_freed_memory() { mallopt(M_MMAP_THRESHOLD, 128 * 1024); }

void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, 64 * 1024 * 1024);
}

}  // namespace lact
