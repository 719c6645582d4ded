// FNV-1a, 64 bits: tells contents apart. It is no protection against someone who wants two texts to agree.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace lact {

class Fnv1a {
 public:
  void update(std::string_view bytes) {
    for (const char byte : bytes) mix(static_cast<uint8_t>(byte));
  }
  /// One step for eight bytes, for data too large to be hashed byte by byte.
  void update_word(uint64_t word) {
    mix(word);
    value_ ^= value_ >> 29;  // the product alone leaves a word's high bits where they are
  }
  /// The same for whole arrays; what is left of the last eight bytes is hashed byte by byte.
  void update_words(const void* bytes, size_t count) {
    const auto* next = static_cast<const char*>(bytes);
    for (; count >= 8; next += 8, count -= 8) {
      uint64_t word = 0;
      std::memcpy(&word, next, 8);
      update_word(word);
    }
    update({next, count});
  }

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

}  // namespace lact
