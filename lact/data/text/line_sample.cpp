#include "lact/data/text/line_sample.h"

#include <utility>

#include "lact/base/random.h"

namespace lact::data {

namespace {

constexpr uint64_t kLotSeed = 1;

/// The text and what it takes to hold it.
size_t bytes_of_line(const std::string& line) { return line.size() + 64; }

}  // namespace

void LineSample::add(std::string line) {
  const uint64_t lot = mix(kLotSeed, num_seen_++);
  if (lot >= limit_) return;
  bytes_ += bytes_of_line(line);
  kept_.push_back({lot, std::move(line)});
  while (bytes_ > most_bytes_ && limit_ > 0) {
    limit_ /= 2;
    std::erase_if(kept_, [&](const Kept& kept) {
      const bool goes = kept.lot >= limit_;
      if (goes) bytes_ -= bytes_of_line(kept.line);
      return goes;
    });
  }
}

}  // namespace lact::data
