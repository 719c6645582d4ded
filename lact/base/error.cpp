#include "lact/base/error.h"

#include <cstdio>

namespace lact {

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "lact: broken invariant at %s:%d: %s\n", file, line, condition);
  std::abort();
}

}  // namespace lact
