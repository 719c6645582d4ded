// Memory of this process, as the kernel counts it.
#pragma once

#include <cstdint>

namespace lact {

int64_t resident_bytes();       ///< now
int64_t peak_resident_bytes();  ///< the most so far

}  // namespace lact
