#include "lact/ops/attention/window_attention_pieces.h"

namespace lact::ops {

AttentionPieces::AttentionPieces(const Window& window, int64_t first_query, int64_t first_key) {
  constexpr int64_t kFar = int64_t(1) << 48;
  const int64_t ahead = first_query - first_key;
  size_t total = 0;
  for (const auto& block : window.blocks) total += block.keys.size();
  ranges_.reserve(total);  // blocks_ points into it
  for (const auto& block : window.blocks) {
    blocks_.push_back({block.queries.begin - first_query, block.queries.end - first_query,
                       ranges_.data() + ranges_.size(), int64_t(block.keys.size())});
    for (const auto& [range, band, shift] : block.keys) {
      // i + shift - band < j <= i + shift for positions i and j
      const int64_t newest = ahead + shift;
      ranges_.push_back({range.begin - first_key, range.end - first_key,
                         band == 0 ? -kFar : newest - band + 1, band == 0 ? kFar : newest});
    }
  }
}

std::vector<kernels::QueriesAndKeys> AttentionPieces::cut(int64_t few, int64_t most) const {
  std::vector<kernels::QueriesAndKeys> pieces;
  for (const auto& block : blocks_) {
    if (block.end - block.begin <= few) continue;
    for (int64_t begin = block.begin; begin < block.end; begin += most) {
      pieces.push_back({begin, std::min(begin + most, block.end), block.ranges, block.num_ranges});
    }
  }
  return pieces;
}

int64_t AttentionPieces::num_queries() const {
  int64_t total = 0;
  for (const auto& block : blocks_) total += block.end - block.begin;
  return total;
}

Range AttentionPieces::queries_of(Range keys) const {
  Range all;
  for (const auto& block : blocks_) {
    for (int64_t i = 0; i < block.num_ranges; ++i) {
      const auto& visible = block.ranges[i];
      const Range seen = intersect(keys, {visible.begin, visible.end});
      const Range queries =
          intersect({block.begin, block.end}, {seen.begin - visible.newest, seen.end - visible.oldest});
      if (seen.empty() || queries.empty()) continue;
      all = all.empty() ? queries : Range{std::min(all.begin, queries.begin), std::max(all.end, queries.end)};
    }
  }
  return all;
}

int64_t most_keys(const kernels::QueriesAndKeys& piece) {
  int64_t most = 0;
  for (int64_t i = 0; i < piece.num_ranges; ++i) {
    const auto& visible = piece.ranges[i];
    most = std::max(most, std::min(visible.end, piece.end + visible.newest) -
                              std::max(visible.begin, piece.begin + visible.oldest));
  }
  return most;
}

}  // namespace lact::ops
