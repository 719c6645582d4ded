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

  void sequence(int64_t index, int64_t length, int64_t* out) const override {
    for_each_part(index, length, [&](TokenRange part) {
      tokens_->copy(part.begin, part.size(), out);
      out += part.size();
    });
  }

  std::vector<int64_t> document_begins(int64_t index, int64_t length) const override {
    std::vector<int64_t> found;
    int64_t place = 0;
    const auto& documents = tokens_->documents();
    for_each_part(index, length, [&](TokenRange part) {
      // What follows from elsewhere is another document, even if it is the rest of one.
      if (place > 0) found.push_back(place);
      auto document = std::upper_bound(documents.begin(), documents.end(), part.begin,
                                       [](int64_t at, const TokenRange& d) { return at < d.begin; });
      for (; document != documents.end() && document->begin < part.end; ++document) {
        found.push_back(place + document->begin - part.begin);
      }
      place += part.size();
    });
    return found;
  }

 protected:
  /// Where in the row a sequence begins.
  virtual int64_t place_of(int64_t index, int64_t length) const = 0;

  int64_t size_ = 0;

 private:
  /// Calls body(part of the array) for what makes up a sequence.
  template <class Body>
  void for_each_part(int64_t index, int64_t length, const Body& body) const {
    LACT_CHECK(size_ >= length, "[data] the text has {} tokens, fewer than one sequence of {}", size_,
               length);
    int64_t begin = place_of(index, length), count = length;
    auto range = size_t(std::upper_bound(begins_.begin(), begins_.end(), begin) - begins_.begin()) - 1;
    for (; count > 0; ++range) {
      const int64_t from = ranges_[range].begin + (begin - begins_[range]);
      const int64_t part = std::min(count, ranges_[range].end - from);
      body(TokenRange{from, from + part});
      begin += part, count -= part;
    }
  }

  std::shared_ptr<TokenArray> tokens_;
  std::vector<TokenRange> ranges_;
  std::vector<int64_t> begins_;  // of each range in the row
};

class Consecutive : public Row {
 public:
  using Row::Row;

 private:
  int64_t place_of(int64_t index, int64_t length) const override {
    return index % num_sequences(length) * length;
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

 private:
  int64_t place_of(int64_t index, int64_t length) const override {
    const int64_t count = num_sequences(length), epoch = index / count;
    const uint64_t seed = mix(seed_, uint64_t(epoch));
    // What the cut leaves over is given to the front in another share each epoch.
    const int64_t slack = size_ - count * length;
    const int64_t offset = Random(seed).below(slack + 1);
    return offset + permuted(index % count, count, seed) * length;
  }

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
