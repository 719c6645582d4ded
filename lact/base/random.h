// Random numbers that are the same for a seed on every platform and compiler, which the distributions of the
// standard library do not promise. Not for secrets.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "lact/base/error.h"

namespace lact {

namespace detail {

constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio, odd

/// The finisher of splitmix64: a bijection in which every input bit changes every output bit half the time.
constexpr uint64_t scramble(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
  return bits ^ (bits >> 31);
}

}  // namespace detail

/// A seed made of two numbers, such as a run's seed and the index of an example. mix(a, b) != mix(b, a).
constexpr uint64_t mix(uint64_t a, uint64_t b) {
  return detail::scramble(detail::scramble(a + detail::kGoldenRatio) + detail::kGoldenRatio * (b + 1));
}

/// xoshiro256** of Blackman and Vigna, its state filled by splitmix64.
class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) word = detail::scramble(seed += detail::kGoldenRatio);
  }

  /// 64 random bits.
  uint64_t next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// 0, ..., n - 1, each exactly as likely; n > 0.
  int64_t below(int64_t n) {
    LACT_ASSERT(n > 0);
    const auto range = static_cast<uint64_t>(n);
    const uint64_t surplus = (0 - range) % range;  // 2^64 mod n: that many draws are taken again
    uint64_t bits = next();
    while (bits < surplus) bits = next();
    return static_cast<int64_t>(bits % range);
  }

  /// [0, 1), in steps of 2^-53.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (size_t left = items.size(); left > 1; --left) {
      std::swap(items[left - 1], items[static_cast<size_t>(below(static_cast<int64_t>(left)))]);
    }
  }

  /// One of the items, which are not empty.
  template <class Items>
  const auto& choice(const Items& items) {
    return items[static_cast<size_t>(below(static_cast<int64_t>(std::size(items))))];
  }

 private:
  std::array<uint64_t, 4> state_;
};

}  // namespace lact
