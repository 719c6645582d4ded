// SHA-256 (FIPS 180-4): a name for contents of which no one can find two that share it, unlike base/fnv.h.
#pragma once

#include <string>
#include <string_view>

namespace lact::io {

/// 64 hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// Whether a word looks like one.
bool is_sha256_hex(std::string_view word);

}  // namespace lact::io
