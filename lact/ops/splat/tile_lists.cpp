#include "lact/ops/splat/tile_lists.h"

#include <ATen/ATen.h>

#include <limits>
#include <numeric>

#include "lact/base/error.h"
#include "lact/ops/splat/bucket_sort.h"

namespace lact::ops {

namespace {

using kernels::kSplatTile;
using kernels::SplatPair;
using kernels::SplatRecord;

/// Into how many pieces work is cut: few enough that waiting for each other and counting in every one do not
/// cost more than they bring.
int64_t pieces_of(int64_t count) { return std::clamp<int64_t>(count >> 16, 1, 16); }

/// Tiles that a Gaussian touches.
struct TileBox {
  template <class Number>
  explicit TileBox(const SplatRecord<Number>& record)
      : left(int64_t(record.left) / kSplatTile),
        right(record.right < 0 ? -1 : int64_t(record.right) / kSplatTile),
        top(int64_t(record.top) / kSplatTile),
        bottom(record.bottom < 0 ? -1 : int64_t(record.bottom) / kSplatTile) {
    if (record.right < record.left || record.bottom < record.top) right = left - 1;
  }
  int64_t size() const { return (right - left + 1) * (bottom - top + 1); }
  int64_t left, right, top, bottom;
};

/// Calls body(i) for those of 0 .. count that belong to a piece.
template <class Body>
void over_piece(int64_t count, int64_t piece, int64_t pieces, const Body& body) {
  for (int64_t i = count * piece / pieces; i < count * (piece + 1) / pieces; ++i) body(i);
}

template <class Key>
struct Ranked {
  Key key;
  int32_t gaussian;
};

/// Gaussians that touch a tile, by their depth: a radix sort of the bits of positive numbers, whose order is
/// that of the numbers.
template <class Number, class Key = std::conditional_t<sizeof(Number) == 4, uint32_t, uint64_t>>
std::vector<int32_t> nearest_first(const SplatRecord<Number>* records, const int64_t* firsts, int64_t count) {
  constexpr int kBits = 11, kBuckets = 1 << kBits;
  std::vector<Ranked<Key>> ranked, next;
  for (int64_t n = 0; n < count; ++n) {
    if (firsts[n + 1] == firsts[n]) continue;
    ranked.push_back({__builtin_bit_cast(Key, records[n].depth), int32_t(n)});
  }
  next.resize(ranked.size());
  const auto seen = int64_t(ranked.size()), pieces = pieces_of(seen);
  for (int shift = 0; shift < int(8 * sizeof(Key)); shift += kBits) {
    sort_into_buckets(
        kBuckets, pieces, [&](int64_t) { return next.data(); },
        [&](int64_t piece, const auto& put) {
          over_piece(seen, piece, pieces,
                     [&](int64_t i) { put((ranked[i].key >> shift) & (kBuckets - 1), ranked[i]); });
        });
    ranked.swap(next);
  }
  std::vector<int32_t> order(ranked.size());
  std::transform(ranked.begin(), ranked.end(), order.begin(), [](const auto& one) { return one.gaussian; });
  return order;
}

}  // namespace

template <class Number>
TileLists tile_lists(const SplatRecord<Number>* records, int64_t count, int64_t height, int64_t width) {
  TileLists lists;
  lists.rows = (height + kSplatTile - 1) / kSplatTile;
  lists.columns = (width + kSplatTile - 1) / kSplatTile;
  lists.firsts = at::zeros({count + 1}, at::kLong);
  int64_t* firsts = lists.firsts.data_ptr<int64_t>();
  for_each_item(pieces_of(count), [&](int64_t piece, int64_t) {
    over_piece(count, piece, pieces_of(count),
               [&](int64_t n) { firsts[n + 1] = TileBox(records[n]).size(); });
  });
  std::partial_sum(firsts, firsts + count + 1, firsts);
  LACT_CHECK(firsts[count] <= std::numeric_limits<int32_t>::max(),
             "[splat] {} Gaussians touch {} tiles of a {} x {} picture, expected fewer than 2^31", count,
             firsts[count], height, width);

  const std::vector<int32_t> order = nearest_first(records, firsts, count);
  const int64_t pieces = pieces_of(firsts[count]);
  const auto make_room = [&](int64_t total) {
    lists.pairs = at::empty({total, 2}, at::kInt);
    return reinterpret_cast<SplatPair*>(lists.pairs.data_ptr<int32_t>());
  };
  const auto starts =
      sort_into_buckets(lists.rows * lists.columns, pieces, make_room, [&](int64_t piece, const auto& put) {
        over_piece(int64_t(order.size()), piece, pieces, [&](int64_t i) {
          const int32_t gaussian = order[i];
          const TileBox box(records[gaussian]);
          auto id = int32_t(firsts[gaussian]);
          for (int64_t row = box.top; row <= box.bottom; ++row)
            for (int64_t column = box.left; column <= box.right; ++column)
              put(row * lists.columns + column, SplatPair{gaussian, id++});
        });
      });
  lists.starts = at::empty({int64_t(starts.size())}, at::kLong);
  std::copy(starts.begin(), starts.end(), lists.starts.template data_ptr<int64_t>());
  return lists;
}

template TileLists tile_lists(const SplatRecord<float>*, int64_t, int64_t, int64_t);
template TileLists tile_lists(const SplatRecord<double>*, int64_t, int64_t, int64_t);

}  // namespace lact::ops
