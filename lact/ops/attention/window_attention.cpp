#include "lact/ops/attention/window_attention.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/ops/dispatch/paths.h"

namespace lact::ops {

namespace {

/// The ranges, sorted by their beginning; throws if two overlap.
void check_disjoint(std::vector<Range> ranges, const char* what) {
  std::sort(ranges.begin(), ranges.end(), [](Range a, Range b) { return a.begin < b.begin; });
  for (size_t i = 1; i < ranges.size(); ++i) {
    LACT_CHECK(ranges[i].begin >= ranges[i - 1].end, "[window_attention] {} [{}, {}) and [{}, {}) overlap",
               what, ranges[i - 1].begin, ranges[i - 1].end, ranges[i].begin, ranges[i].end);
  }
}

void check_inside(Range range, Range whole, const char* what) {
  LACT_CHECK(!range.empty(), "[window_attention] {} [{}, {}) is empty", what, range.begin, range.end);
  LACT_CHECK(whole.begin <= range.begin && range.end <= whole.end,
             "[window_attention] {} [{}, {}) is outside of the positions [{}, {})", what, range.begin,
             range.end, whole.begin, whole.end);
}

}  // namespace

Range VisibleKeys::seen_by(Range tile) const {
  return band == 0 ? range : intersect(range, {tile.begin + ahead - band + 1, tile.end + ahead});
}

void check_window(const Window& window, Range queries, Range keys) {
  std::vector<Range> query_ranges;
  for (const auto& block : window.blocks) {
    check_inside(block.queries, queries, "the query range");
    query_ranges.push_back(block.queries);
    std::vector<Range> key_ranges;
    for (const auto& visible : block.keys) {
      LACT_CHECK(visible.band >= 0, "[window_attention] a band of {} keys, expected 0 (all) or more",
                 visible.band);
      check_inside(visible.range, keys, "the key range");
      key_ranges.push_back(visible.range);
    }
    check_disjoint(std::move(key_ranges), "key ranges of one block,");
  }
  check_disjoint(std::move(query_ranges), "query ranges");
}

void check_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Window& window,
                     int64_t first_query, int64_t first_key) {
  LACT_CHECK(q.dim() == 4 && k.dim() == 4 && v.dim() == 4,
             "[window_attention] q, k and v have shapes {}, {} and {}, expected [B, T, H, D]",
             q.sizes().vec(), k.sizes().vec(), v.sizes().vec());
  LACT_CHECK(q.size(2) == k.size(2), "[window_attention] q has {} heads but k has {}", q.size(2), k.size(2));
  LACT_CHECK(q.size(3) == k.size(3), "[window_attention] q is {} wide but k is {}", q.size(3), k.size(3));
  LACT_CHECK(q.size(0) == k.size(0), "[window_attention] q has batch {} but k has {}", q.size(0), k.size(0));
  LACT_CHECK(k.sizes().slice(0, 3) == v.sizes().slice(0, 3), "[window_attention] k has shape {} but v has {}",
             k.sizes().vec(), v.sizes().vec());
  check_window(window, {first_query, first_query + q.size(1)}, {first_key, first_key + k.size(1)});
}

at::Tensor window_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const Window& window, int64_t first_query, int64_t first_key) {
  check_attention(q, k, v, window, first_query, first_key);
  if (fused_paths() && fused::fits_window_attention(q, k, v)) {
    return fused::window_attention(q, k, v, window, first_query, first_key);
  }
  return reference::window_attention(q, k, v, window, first_query, first_key);
}

}  // namespace lact::ops
