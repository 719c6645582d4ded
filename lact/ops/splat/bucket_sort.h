// Values into buckets, by several threads: a counting sort that keeps the order in which values come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lact/ops/dispatch/work_items.h"

namespace lact::ops {

/// visit(piece, put) calls put(bucket, value) for the values of one piece, the same ones both times it is
/// called; a bucket gets the values of earlier pieces first. make_room(count of all) returns where values go.
/// Returns where buckets begin, and at last where all end.
template <class MakeRoom, class Visit>
std::vector<int64_t> sort_into_buckets(int64_t buckets, int64_t pieces, const MakeRoom& make_room,
                                       const Visit& visit) {
  std::vector<int64_t> places(pieces * buckets);  // first counts, then where the next value goes
  for_each_item(pieces, [&](int64_t piece, int64_t) {
    int64_t* counts = places.data() + piece * buckets;
    visit(piece, [counts](int64_t bucket, const auto&) { ++counts[bucket]; });
  });
  std::vector<int64_t> starts(buckets + 1);
  int64_t total = 0;
  for (int64_t bucket = 0; bucket < buckets; ++bucket) {
    starts[bucket] = total;
    for (int64_t piece = 0; piece < pieces; ++piece) {
      int64_t& place = places[piece * buckets + bucket];
      const int64_t count = place;
      place = total;
      total += count;
    }
  }
  starts[buckets] = total;
  auto* const room = make_room(total);
  for_each_item(pieces, [&](int64_t piece, int64_t) {
    int64_t* next = places.data() + piece * buckets;
    visit(piece, [next, room](int64_t bucket, const auto& value) { room[next[bucket]++] = value; });
  });
  return starts;
}

}  // namespace lact::ops
