// Memory of this process and of the machine, as the kernel counts it.
#pragma once

#include <cstdint>

namespace lact {

int64_t resident_bytes();       ///< now
int64_t peak_resident_bytes();  ///< the most so far

/// Memory that this process can have at all: of the machine, or of the control group that limits it.
int64_t machine_memory_bytes();

/// Gives large blocks back to the system as soon as they are free, so that the memory of a long-running
/// stream stays where it is. Slower for a training loop, which takes the same blocks again and again.
void return_freed_memory();

/// The opposite, for training: pages of a freed block are used again instead of being fetched, and cleared,
/// anew.
void keep_freed_memory();

}  // namespace lact
