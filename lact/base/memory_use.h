// Memory of this process and of the machine, as the kernel counts it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lact {

int64_t resident_bytes();       ///< now
int64_t peak_resident_bytes();  ///< the most so far

/// Memory that this process can have at all: of the machine, or of the control group that limits it.
int64_t machine_memory_bytes();

/// The smallest limit of the control groups that `groups` (/proc/self/cgroup, see cgroups(7)) names below
/// `root`, and of those around them; nothing without a limit.
std::optional<int64_t> control_group_limit(const std::string& groups = "/proc/self/cgroup",
                                           const std::string& root = "/sys/fs/cgroup");

/// Gives large blocks back to the system as soon as they are free, so that the memory of a long-running
/// stream stays where it is. Slower for a training loop, which takes the same blocks again and again.
void return_freed_memory();

/// The opposite, for training: pages of a freed block are used again instead of being fetched, and cleared,
/// anew.
void keep_freed_memory();

}  // namespace lact
