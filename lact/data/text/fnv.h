// FNV-1a, 64 bits: tells contents apart. It is no protection against someone who wants two texts to agree.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace lact::data {

class Fnv1a {
 public:
  void update(std::string_view bytes) {
    for (const char byte : bytes) mix(static_cast<uint8_t>(byte));
  }
  /// One step for eight bytes, for data too large to be hashed byte by byte.
  void update_word(uint64_t word) { mix(word); }

  uint64_t value() const { return value_; }
  /// 16 hexadecimal digits.
  std::string hex() const { return fmt::format("{:016x}", value_); }

 private:
  void mix(uint64_t unit) { value_ = (value_ ^ unit) * 0x100000001b3u; }

  uint64_t value_ = 0xcbf29ce484222325u;
};

inline std::string fnv_hex(std::string_view bytes) {
  Fnv1a hash;
  hash.update(bytes);
  return hash.hex();
}

}  // namespace lact::data
