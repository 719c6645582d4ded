// The bytes of safetensors files, right or wrong.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace lact::testing {

inline std::string length_prefix(uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes;
}

inline std::string file_of(const std::string& header, const std::string& data = "") {
  return length_prefix(header.size()) + header + data;
}

}  // namespace lact::testing
