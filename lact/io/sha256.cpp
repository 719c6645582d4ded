#include "lact/io/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace lact::io {

namespace {

using Words = std::array<uint32_t, 8>;

/// The first 32 bits behind the point of root(prime), for the first primes: square roots begin the digest,
/// cube roots are the constants of the rounds. long double has bits to spare: primes are below 312.
template <size_t Count>
std::array<uint32_t, Count> roots_of_primes(long double (*root)(long double)) {
  std::array<uint32_t, Count> bits{};
  size_t found = 0;
  for (int candidate = 2; found < Count; ++candidate) {
    bool prime = true;
    for (int divisor = 2; divisor * divisor <= candidate; ++divisor) prime &= candidate % divisor != 0;
    if (!prime) continue;
    const long double value = root(static_cast<long double>(candidate));
    bits[found++] = uint32_t((value - std::floor(value)) * 4294967296.0L);
  }
  return bits;
}

const std::array<uint32_t, 64>& round_constants() {
  static const auto constants = roots_of_primes<64>([](long double x) { return std::cbrt(x); });
  return constants;
}

void add_block(Words& digest, const uint8_t* block) {
  std::array<uint32_t, 64> schedule{};
  for (size_t i = 0; i < 16; ++i) {
    for (size_t byte = 0; byte < 4; ++byte) schedule[i] = schedule[i] << 8 | block[4 * i + byte];
  }
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t early = schedule[i - 15], late = schedule[i - 2];
    const uint32_t small0 = std::rotr(early, 7) ^ std::rotr(early, 18) ^ (early >> 3);
    const uint32_t small1 = std::rotr(late, 17) ^ std::rotr(late, 19) ^ (late >> 10);
    schedule[i] = schedule[i - 16] + small0 + schedule[i - 7] + small1;
  }
  auto [a, b, c, d, e, f, g, h] = digest;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t large1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t large0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
    const uint32_t first = h + large1 + choice + round_constants()[i] + schedule[i];
    h = g, g = f, f = e, e = d + first;
    d = c, c = b, b = a, a = first + large0 + majority;
  }
  const Words rest = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < digest.size(); ++i) digest[i] += rest[i];
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  static const Words beginning = roots_of_primes<8>([](long double x) { return std::sqrt(x); });
  Words digest = beginning;
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  const size_t whole = bytes.size() / 64 * 64;
  for (size_t i = 0; i < whole; i += 64) add_block(digest, data + i);
  // A bit of one, zeros, and the length in bits as the last eight bytes.
  std::array<uint8_t, 128> last{};
  const size_t left = bytes.size() - whole, padded = left < 56 ? 64 : 128;
  std::copy(data + whole, data + bytes.size(), last.begin());
  last[left] = 0x80;
  for (size_t i = 0; i < 8; ++i) last[padded - 1 - i] = uint8_t(uint64_t(bytes.size()) * 8 >> 8 * i);
  for (size_t i = 0; i < padded; i += 64) add_block(digest, last.data() + i);
  std::string text;
  for (const uint32_t word : digest) text += fmt::format("{:08x}", word);
  return text;
}

bool is_sha256_hex(std::string_view word) {
  return word.size() == 64 && std::all_of(word.begin(), word.end(), [](char digit) {
           return (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f');
         });
}

}  // namespace lact::io
