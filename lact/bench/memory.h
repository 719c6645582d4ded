// How much memory a call needs, as the system sees it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace lact::bench {

/// The most resident memory during `call` beyond what was resident before it, in bytes. Absent where the
/// system does not let a process reset its own peak.
std::optional<int64_t> extra_peak_bytes(const std::function<void()>& call);

/// Memory that is free but still this process's.
void give_back_freed_memory();

/// What the system could still give without swapping.
int64_t available_bytes();

}  // namespace lact::bench
