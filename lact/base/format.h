// Quantities as people read them.
#pragma once

#include <string>

namespace lact {

/// "350 ms", "12 s", "3 min 20 s", "1 h 05 min", "2 d 03 h"; "?" when it is not a finite time.
std::string format_duration(double seconds);

/// "512 B", "1.2 GB": powers of 1000.
std::string format_bytes(double bytes);

/// "950", "12.3 k", "12.3 M", "1.3 B", "2.0 T".
std::string format_count(double count);

}  // namespace lact
