#include "lact/data/text/token_source.h"

#include <algorithm>

#include "lact/base/error.h"
#include "lact/base/random.h"

namespace lact::data {

namespace {

class Row : public TokenSource {
 public:
  Row(std::shared_ptr<TokenArray> tokens, std::vector<TokenRange> ranges)
      : tokens_(std::move(tokens)), ranges_(std::move(ranges)) {
    for (const auto& range : ranges_) {
      begins_.push_back(size_);
      size_ += range.size();
    }
  }

  int64_t num_sequences(int64_t length) const override { return size_ / length; }

 protected:
  void check(int64_t length) const {
    LACT_CHECK(size_ >= length, "[data] the text has {} tokens, fewer than one sequence of {}", size_,
               length);
  }

  /// Tokens [begin, begin + count) of the row.
  void copy(int64_t begin, int64_t count, int64_t* out) const {
    auto range = size_t(std::upper_bound(begins_.begin(), begins_.end(), begin) - begins_.begin()) - 1;
    for (; count > 0; ++range) {
      const int64_t from = ranges_[range].begin + (begin - begins_[range]);
      const int64_t part = std::min(count, ranges_[range].end - from);
      tokens_->copy(from, part, out);
      begin += part, count -= part, out += part;
    }
  }

  int64_t size_ = 0;

 private:
  std::shared_ptr<TokenArray> tokens_;
  std::vector<TokenRange> ranges_;
  std::vector<int64_t> begins_;  // of each range in the row
};

class Consecutive : public Row {
 public:
  using Row::Row;
  void sequence(int64_t index, int64_t length, int64_t* out) const override {
    check(length);
    copy(index % num_sequences(length) * length, length, out);
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
  Shuffled(std::shared_ptr<TokenArray> tokens, std::vector<TokenRange> ranges, uint64_t seed)
      : Row(std::move(tokens), std::move(ranges)), seed_(seed) {}

  void sequence(int64_t index, int64_t length, int64_t* out) const override {
    check(length);
    const int64_t count = num_sequences(length), epoch = index / count;
    const uint64_t seed = mix(seed_, uint64_t(epoch));
    // What the cut leaves over is given to the front in another share each epoch.
    const int64_t slack = size_ - count * length;
    const int64_t offset = Random(seed).below(slack + 1);
    copy(offset + permuted(index % count, count, seed) * length, length, out);
  }

 private:
  uint64_t seed_;
};

}  // namespace

std::unique_ptr<TokenSource> shuffled_sequences(std::shared_ptr<TokenArray> tokens,
                                                std::vector<TokenRange> ranges, uint64_t seed) {
  return std::make_unique<Shuffled>(std::move(tokens), std::move(ranges), seed);
}

std::unique_ptr<TokenSource> consecutive_sequences(std::shared_ptr<TokenArray> tokens,
                                                   std::vector<TokenRange> ranges) {
  return std::make_unique<Consecutive>(std::move(tokens), std::move(ranges));
}

}  // namespace lact::data
