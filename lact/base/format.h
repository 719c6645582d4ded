// Quantities, and what other programs say, as people read them.
#pragma once

#include <string>
#include <string_view>

namespace lact {

/// "350 ms", "12 s", "3 min 20 s", "1 h 05 min", "2 d 03 h"; "?" when it is not a finite time.
std::string format_duration(double seconds);

/// "512 B", "1.2 GB": powers of 1000.
std::string format_bytes(double bytes);

/// "950", "12.3 k", "12.3 M", "1.3 B", "2.0 T".
std::string format_count(double count);

/// White space and control characters become single blanks, none at the ends.
std::string as_one_line(std::string_view text);

/// The last line with anything in it, as one line, cut to the first `most` bytes; "" where there is none.
std::string last_line(std::string_view text, size_t most);

}  // namespace lact
