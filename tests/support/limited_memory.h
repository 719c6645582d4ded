// A process that may not grow: what asks for more gets std::bad_alloc instead of the machine's memory.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace lact::testing {

/// While it lives, this process may take `bytes` of address space more than it has. Does nothing in a build
/// with AddressSanitizer, whose address space is of another kind.
class LimitedMemory {
 public:
  explicit LimitedMemory(uint64_t bytes) {
    getrlimit(RLIMIT_AS, &before_);
#if !defined(__SANITIZE_ADDRESS__)
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = before_;
    limit.rlim_cur = pages * uint64_t(sysconf(_SC_PAGE_SIZE)) + bytes;
    setrlimit(RLIMIT_AS, &limit);
#else
    (void)bytes;
#endif
  }
  ~LimitedMemory() { setrlimit(RLIMIT_AS, &before_); }
  LimitedMemory(const LimitedMemory&) = delete;
  LimitedMemory& operator=(const LimitedMemory&) = delete;

 private:
  rlimit before_ = {};
};

}  // namespace lact::testing
