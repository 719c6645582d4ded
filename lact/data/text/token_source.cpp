#include "lact/data/text/token_source.h"

#include "lact/base/error.h"
#include "lact/base/random.h"

namespace lact::data {

namespace {

class Row : public TokenSource {
 public:
  Row(std::shared_ptr<TokenArray> tokens, TokenRange range) : tokens_(std::move(tokens)), range_(range) {}

  int64_t num_sequences(int64_t length) const override { return range_.size() / length; }

 protected:
  void check(int64_t length) const {
    LACT_CHECK(range_.size() >= length, "[data] the text has {} tokens, fewer than one sequence of {}",
               range_.size(), length);
  }

  std::shared_ptr<TokenArray> tokens_;
  TokenRange range_;
};

class Consecutive : public Row {
 public:
  using Row::Row;
  void sequence(int64_t index, int64_t length, int64_t* out) const override {
    check(length);
    tokens_->copy(range_.begin + index % num_sequences(length) * length, length, out);
  }
};

/// A permutation of [0, count) without a table: a Feistel network on the smallest even number of bits that
/// holds count, walked until it lands inside.
int64_t permuted(int64_t index, int64_t count, uint64_t seed) {
  int half = 1;
  while ((int64_t(1) << (2 * half)) < count) ++half;
  const uint64_t mask = (uint64_t(1) << half) - 1;
  auto value = uint64_t(index);
  do {
    uint64_t left = value >> half, right = value & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t next = left ^ (mix(mix(seed, round), right) & mask);
      left = right;
      right = next;
    }
    value = (left << half) | right;
  } while (value >= uint64_t(count));
  return int64_t(value);
}

class Shuffled : public Row {
 public:
  Shuffled(std::shared_ptr<TokenArray> tokens, TokenRange range, uint64_t seed)
      : Row(std::move(tokens), range), seed_(seed) {}

  void sequence(int64_t index, int64_t length, int64_t* out) const override {
    check(length);
    const int64_t count = num_sequences(length), epoch = index / count;
    const uint64_t seed = mix(seed_, uint64_t(epoch));
    // What the cut leaves over is given to the front in another share each epoch.
    const int64_t slack = range_.size() - count * length;
    const int64_t offset = Random(seed).below(slack + 1);
    tokens_->copy(range_.begin + offset + permuted(index % count, count, seed) * length, length, out);
  }

 private:
  uint64_t seed_;
};

}  // namespace

std::unique_ptr<TokenSource> shuffled_sequences(std::shared_ptr<TokenArray> tokens, TokenRange range,
                                                uint64_t seed) {
  return std::make_unique<Shuffled>(std::move(tokens), range, seed);
}

std::unique_ptr<TokenSource> consecutive_sequences(std::shared_ptr<TokenArray> tokens, TokenRange range) {
  return std::make_unique<Consecutive>(std::move(tokens), range);
}

}  // namespace lact::data
