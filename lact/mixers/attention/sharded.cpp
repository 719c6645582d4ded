#include "lact/mixers/attention/sharded.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"

namespace lact::attention {

namespace {

/// Calls visit(queries, keys) for the queries of each block that are among `held`, with what they see.
template <class Visit>
void for_each_block(const ops::Window& window, const std::vector<Range>& held, const Visit& visit) {
  for (const auto& range : held) {
    for (const auto& block : window.blocks) {
      const Range queries = lact::intersect(block.queries, range);
      if (queries.empty()) continue;
      std::vector<ops::VisibleKeys> keys = block.keys;
      for (auto& visible : keys) visible.range = visible.seen_by(queries);
      std::erase_if(keys, [](const ops::VisibleKeys& visible) { return visible.range.empty(); });
      visit(queries, keys);
    }
  }
}

std::vector<Range> keys_seen(const ops::Window& window, const std::vector<Range>& held) {
  std::vector<Range> seen;
  for_each_block(window, held, [&](Range, const std::vector<ops::VisibleKeys>& keys) {
    for (const auto& visible : keys) seen.push_back(visible.range);
  });
  return merged(std::move(seen));
}

Range shifted(Range range, int64_t by) { return {range.begin + by, range.end + by}; }

}  // namespace

at::Tensor sharded_attention(const HeadInputs& heads, const ops::Window& window, const Sharding& sharding) {
  const int64_t width = heads.k.size(3);
  const auto own = sharding.to_heads(
      {heads.q.transpose(1, 2), heads.k.transpose(1, 2), heads.v.transpose(1, 2)}, "attention");
  const at::Tensor q = own[0].transpose(1, 2);
  at::Tensor k = own[1].transpose(1, 2), v = own[2].transpose(1, 2);

  std::vector<std::vector<Range>> needed;
  for (int64_t rank = 0; rank < sharding.context().size(); ++rank) {
    needed.push_back(keys_seen(window, sharding.of_context(rank)));
  }
  if (!sharding.context().alone()) {
    const at::Tensor both = sharding.bring(at::cat({k, v}, 3), needed, "exchanging keys and values");
    k = both.narrow(3, 0, width), v = both.narrow(3, width, v.size(3));
  }

  // Queries and keys are numbered by their places here; where a band ties them to each other, a block of its
  // own counts both from the keys' places.
  const auto& held = sharding.own_context();
  const auto& seen = needed[size_t(sharding.context().rank())];
  ops::Window free;
  std::vector<std::pair<int64_t, at::Tensor>> outputs;
  for_each_block(window, held, [&](Range queries, const std::vector<ops::VisibleKeys>& keys) {
    const Range place = shifted(queries, place_in(held, queries.begin) - queries.begin);
    ops::AttentionBlock block = {place, {}};
    int64_t count_from = place.begin;
    bool tied = false;
    for (const auto& [range, band] : keys) {
      const int64_t shift = place_in(seen, range.begin) - range.begin;
      block.keys.push_back({shifted(range, shift), band});
      if (band == 0) continue;
      LACT_ASSERT(!tied || count_from == queries.begin + shift);
      tied = true, count_from = queries.begin + shift;
    }
    if (!tied) {
      free.blocks.push_back(std::move(block));
      return;
    }
    block.queries = {count_from, count_from + queries.size()};
    outputs.emplace_back(place.begin, ops::window_attention(q.narrow(1, place.begin, place.size()), k, v,
                                                            {{std::move(block)}}, count_from, 0));
  });
  at::Tensor out;
  if (outputs.empty()) {
    out = q.size(1) == 0 ? v.narrow(1, 0, 0) : ops::window_attention(q, k, v, free, 0, 0);
  } else {
    LACT_ASSERT(free.blocks.empty());
    std::sort(outputs.begin(), outputs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<at::Tensor> parts;
    for (const auto& [place, part] : outputs) parts.push_back(part);
    out = parts.size() == 1 ? parts.front() : at::cat(parts, 1);
  }
  return sharding.to_tokens(out.transpose(1, 2), "attention").transpose(1, 2);
}

}  // namespace lact::attention
