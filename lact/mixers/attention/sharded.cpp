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

/// The queries of the tokens `held` to keys and values of the tokens `seen`. Both are numbered by their
/// places here.
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const ops::Window& window,
                  const std::vector<Range>& held, const std::vector<Range>& seen) {
  ops::Window here;
  for_each_block(window, held, [&](Range queries, const std::vector<ops::VisibleKeys>& keys) {
    const int64_t query_shift = place_in(held, queries.begin) - queries.begin;
    ops::AttentionBlock block = {shifted(queries, query_shift), {}};
    for (const auto& [range, band, ahead] : keys) {
      const int64_t key_shift = place_in(seen, range.begin) - range.begin;
      block.keys.push_back({shifted(range, key_shift), band, ahead + key_shift - query_shift});
    }
    here.blocks.push_back(std::move(block));
  });
  // The keys stay in the graph of a rank without queries: it takes part in the way back.
  return q.size(1) == 0 ? v.narrow(1, 0, 0) : ops::window_attention(q, k, v, here, 0, 0);
}

/// Of all ranks: those from `keep_from` on, and what was there before of them.
void keep(KeyValueCache& kept, const at::Tensor& keys_and_values, const Sharding& sharding,
          ops::CacheFormat format, int64_t keep_from) {
  const SequenceLayout& whole = sharding.whole();
  if (keep_from >= whole.end()) {
    kept.drop(kept.count());
    return;
  }
  const std::vector<std::vector<Range>> tail(size_t(sharding.context().size()),
                                             {{std::max(keep_from, whole.begin), whole.end()}});
  const at::Tensor both = sharding.bring(keys_and_values, tail, "exchanging keys and values to keep");
  const int64_t first_kept = whole.begin - kept.count();
  kept.drop(std::clamp<int64_t>(keep_from - first_kept, 0, kept.count()));
  const auto halves = both.chunk(2, 3);
  kept.append(halves[0], halves[1], format);
}

}  // namespace

at::Tensor sharded_attention(const HeadInputs& heads, const ops::Window& window, const Sharding& sharding,
                             KeyValueCache& kept, ops::CacheFormat format, int64_t keep_from) {
  const SequenceLayout& whole = sharding.whole();
  const auto own = sharding.to_heads(
      {heads.q.transpose(1, 2), heads.k.transpose(1, 2), heads.v.transpose(1, 2)}, "attention");
  const at::Tensor q = own[0].transpose(1, 2);
  const at::Tensor held_keys = at::cat({own[1], own[2]}, 3).transpose(1, 2);

  const std::vector<Range> here = {{whole.begin, whole.end()}};
  std::vector<std::vector<Range>> needed;
  for (int64_t rank = 0; rank < sharding.context().size(); ++rank) {
    needed.push_back(lact::intersect(keys_seen(window, sharding.of_context(rank)), here));
  }
  const auto both = sharding.bring(held_keys, needed, "exchanging keys and values").chunk(2, 3);
  at::Tensor k = both[0], v = both[1];
  std::vector<Range> seen = needed[size_t(sharding.context().rank())];
  if (kept.count() > 0) {
    k = at::cat({ops::widened(kept.k, k.scalar_type()), k}, 1);
    v = at::cat({ops::widened(kept.v, v.scalar_type()), v}, 1);
    seen.insert(seen.begin(), {whole.begin - kept.count(), whole.begin});
  }
  const at::Tensor out = attend(q, k, v, window, sharding.own_context(), seen);
  keep(kept, held_keys, sharding, format, keep_from);
  return sharding.to_tokens(out.transpose(1, 2), "attention").transpose(1, 2);
}

}  // namespace lact::attention
