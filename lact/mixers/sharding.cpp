#include "lact/mixers/sharding.h"

#include <ATen/ATen.h>

#include <set>

#include "lact/base/error.h"
#include "lact/ops/tokens/pieces.h"
#include "lact/parallel/collectives.h"

namespace lact {

namespace {

/// Ranges between which no rank's part goes on: where a step or a stretch begins or ends.
std::vector<Range> cells_of(const SequenceLayout& layout) {
  std::set<int64_t> borders = {layout.begin, layout.end()};
  for (const auto& step : layout.schedule) borders.insert({step.tokens.begin, step.tokens.end});
  for (const auto& stretch : layout.stretches) borders.insert({stretch.tokens.begin, stretch.tokens.end});
  std::vector<Range> cells;
  for (auto border = borders.begin(); std::next(border) != borders.end(); ++border) {
    cells.push_back({*border, *std::next(border)});
  }
  return cells;
}

/// Where a cell may be cut: anywhere, but the views of a set stay whole, so that their attention is local.
std::vector<int64_t> cuts_of(const SequenceLayout& layout, Range cell) {
  std::vector<int64_t> cuts;
  if (layout.unordered) {
    for (const auto& block : layout.window.blocks) {
      if (intersect(block.queries, cell) == block.queries) cuts.push_back(block.queries.begin);
    }
  }
  if (cuts.empty() || cuts.front() != cell.begin) {
    cuts.resize(size_t(cell.size()));
    for (size_t i = 0; i < cuts.size(); ++i) cuts[i] = cell.begin + int64_t(i);
  }
  cuts.push_back(cell.end);
  return cuts;
}

void append(std::vector<Range>& ranges, Range range) {
  if (range.empty()) return;
  if (!ranges.empty() && ranges.back().end == range.begin) {
    ranges.back().end = range.end;
  } else {
    ranges.push_back(range);
  }
}

/// In order, for every cell a part for each of `count` ranks.
std::vector<std::vector<Range>> parts_of(const SequenceLayout& layout, int64_t count) {
  std::vector<std::vector<Range>> parts(static_cast<size_t>(count));
  for (const auto& cell : cells_of(layout)) {
    const std::vector<int64_t> cuts = cuts_of(layout, cell);
    const auto pieces = int64_t(cuts.size()) - 1;
    for (int64_t rank = 0; rank < count; ++rank) {
      append(parts[size_t(rank)],
             {cuts[size_t(pieces * rank / count)], cuts[size_t(pieces * (rank + 1) / count)]});
    }
  }
  return parts;
}

std::vector<Range> joined(const std::vector<std::vector<Range>>& parts, size_t first, size_t count) {
  std::vector<Range> all;
  for (size_t i = first; i < first + count; ++i) all.insert(all.end(), parts[i].begin(), parts[i].end());
  return merged(std::move(all));
}

/// The tokens of `chosen`, which do not overlap, as places among those of `held`.
std::vector<Range> places_in(const std::vector<Range>& held, const std::vector<Range>& chosen) {
  std::vector<Range> places;
  for (const auto& range : intersect(held, chosen)) {
    const int64_t place = place_in(held, range.begin);
    places.push_back({place, place + range.size()});
  }
  return places;
}

/// Pieces that come from somewhere, to be put into the order of their positions.
class Arrivals {
 public:
  void add(int64_t position, ops::TokenPiece piece) { arrivals_.emplace_back(position, piece); }

  /// Tokens at the positions of `ranges`, one range after the other behind those before.
  void add_next(const std::vector<Range>& ranges, ops::TokenPiece::Source source) {
    for (const auto& range : ranges) {
      add(range.begin, {source, {next_, next_ + range.size()}});
      next_ += range.size();
    }
  }

  std::vector<ops::TokenPiece> by_position() const {
    auto sorted = arrivals_;
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<ops::TokenPiece> pieces;
    for (const auto& [position, piece] : sorted) pieces.push_back(piece);
    return pieces;
  }

 private:
  std::vector<std::pair<int64_t, ops::TokenPiece>> arrivals_;
  int64_t next_ = 0;
};

/// The schedule of the tokens in `held`, counted among them; every write is a step, though it be empty.
ttt::Schedule part_of(const ttt::Schedule& schedule, const std::vector<Range>& held) {
  ttt::Schedule part;
  for (const auto& [operation, tokens] : schedule) {
    int64_t before = 0, count = 0;
    for (const auto& range : held) {
      before += std::clamp<int64_t>(tokens.begin - range.begin, 0, range.size());
      count += std::max<int64_t>(0, intersect(range, tokens).size());
    }
    part.push_back({operation, {before, before + count}});
  }
  return part;
}

}  // namespace

int64_t size_of(const std::vector<Range>& ranges) {
  int64_t size = 0;
  for (const auto& range : ranges) size += range.size();
  return size;
}

int64_t place_in(const std::vector<Range>& ranges, int64_t position) {
  int64_t before = 0;
  for (const auto& range : ranges) {
    if (range.contains(position)) return before + position - range.begin;
    before += range.size();
  }
  LACT_ASSERT(false);
  return -1;
}

std::vector<Range> merged(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](Range a, Range b) { return a.begin < b.begin; });
  std::vector<Range> all;
  for (const auto& range : ranges) {
    if (range.empty()) continue;
    if (!all.empty() && range.begin <= all.back().end) {
      all.back().end = std::max(all.back().end, range.end);
    } else {
      all.push_back(range);
    }
  }
  return all;
}

std::vector<Range> intersect(const std::vector<Range>& ranges, const std::vector<Range>& others) {
  std::vector<Range> both;
  for (const auto& range : ranges) {
    for (const auto& other : others) {
      if (const Range common = intersect(range, other); !common.empty()) both.push_back(common);
    }
  }
  return both;
}

Sharding::Sharding(SequenceLayout whole, const parallel::World& world)
    : whole_(std::move(whole)), world_(world), shards_(parts_of(whole_, world.mesh.shards())) {
  const auto tensor = size_t(world.mesh.tensor);
  for (size_t rank = 0; rank < size_t(world.mesh.context); ++rank) {
    contexts_.push_back(joined(shards_, rank * tensor, tensor));
  }
  const size_t first = size_t(world.place().context) * tensor;
  tensors_.assign(shards_.begin() + int64_t(first), shards_.begin() + int64_t(first + tensor));
}

at::Tensor Sharding::take(const at::Tensor& all, int64_t dim) const {
  std::vector<at::Tensor> parts;
  for (const auto& range : own()) parts.push_back(all.narrow(dim, range.begin - whole_.begin, range.size()));
  if (parts.empty()) return all.narrow(dim, 0, 0);
  return parts.size() == 1 ? parts.front() : at::cat(parts, dim);
}

at::Tensor Sharding::moved(const at::Tensor& rows, const parallel::Group& group,
                           const std::vector<std::vector<Range>>& held,
                           const std::vector<std::vector<Range>>& needed, const char* what) const {
  const auto me = size_t(group.rank());
  std::vector<Range> sent;
  std::vector<int64_t> to, from;
  Arrivals arrivals;
  for (size_t rank = 0; rank < held.size(); ++rank) {
    const auto coming = lact::intersect(held[rank], needed[me]);
    if (rank == me) {  // stays here
      to.push_back(0), from.push_back(0);
      for (const auto& range : coming) {
        const int64_t place = place_in(held[me], range.begin);
        arrivals.add(range.begin, {ops::TokenPiece::kFirst, {place, place + range.size()}});
      }
      continue;
    }
    const auto leaving = places_in(held[me], needed[rank]);
    sent.insert(sent.end(), leaving.begin(), leaving.end());
    to.push_back(size_of(leaving));
    arrivals.add_next(coming, ops::TokenPiece::kSecond);
    from.push_back(size_of(coming));
  }
  const at::Tensor come = parallel::exchange(ops::take_ranges(rows, sent), to, from, group, what);
  return ops::join_pieces(rows, come, arrivals.by_position());
}

at::Tensor Sharding::put_together(const at::Tensor& x, Range part) const {
  std::vector<std::vector<Range>> held;
  for (const auto& shard : shards_) held.push_back(lact::intersect(shard, {part}));
  const std::vector<std::vector<Range>> everything(shards_.size(), {part});
  return moved(x.transpose(0, 1), world_.sequence, held, everything, "gathering tokens").transpose(0, 1);
}

at::Tensor Sharding::fetch(const at::Tensor& x, const std::vector<std::vector<Range>>& needed,
                           const char* what) const {
  return moved(x.transpose(0, 1), world_.sequence, shards_, needed, what).transpose(0, 1);
}

at::Tensor Sharding::bring(const at::Tensor& x, const std::vector<std::vector<Range>>& needed,
                           const char* what) const {
  bool exchanges = false;
  for (size_t rank = 0; rank < needed.size(); ++rank) {
    exchanges = exchanges || size_of(intersect(needed[rank], contexts_[rank])) != size_of(needed[rank]);
  }
  if (!exchanges) {  // the same on all ranks
    const auto places = places_in(own_context(), needed[size_t(world_.context.rank())]);
    if (size_of(places) == x.size(1)) return x;
    return ops::take_ranges(x.transpose(0, 1), places).transpose(0, 1);
  }
  return moved(x.transpose(0, 1), world_.context, contexts_, needed, what).transpose(0, 1);
}

std::vector<at::Tensor> Sharding::to_heads(const std::vector<at::Tensor>& tokens, const char* what) const {
  const parallel::Group& group = world_.tensor;
  if (group.alone()) return tokens;
  const int64_t ranks = group.size(), heads = tokens.front().size(1), batch = tokens.front().size(0);
  LACT_CHECK(heads % ranks == 0, "[{}] {} heads cannot be shared out among the {} ranks of the tensor axis",
             what, heads, ranks);
  std::vector<int64_t> widths;
  for (const auto& x : tokens) widths.push_back(x.size(3));
  const at::Tensor all = tokens.size() == 1 ? tokens.front() : at::cat(tokens, 3);
  const int64_t count = all.size(2), own = heads / ranks;
  const at::Tensor rows = all.reshape({batch, ranks, own, count, all.size(3)})
                              .permute({1, 3, 0, 2, 4})
                              .reshape({ranks * count, batch, own, all.size(3)});
  std::vector<int64_t> from;
  Arrivals arrivals;
  for (const auto& held : of_tensor()) {
    from.push_back(size_of(held));
    arrivals.add_next(held, ops::TokenPiece::kFirst);
  }
  const at::Tensor come =
      parallel::exchange(rows, std::vector<int64_t>(size_t(ranks), count), from, group, what);
  const at::Tensor here =
      ops::join_pieces(come, come.narrow(0, 0, 0), arrivals.by_position()).permute({1, 2, 0, 3});
  return at::split_with_sizes(here, widths, 3);
}

at::Tensor Sharding::to_tokens(const at::Tensor& heads, const char* what) const {
  const parallel::Group& group = world_.tensor;
  if (group.alone()) return heads;
  const int64_t ranks = group.size(), batch = heads.size(0), own = heads.size(1), width = heads.size(3);
  std::vector<Range> leaving;
  std::vector<int64_t> to;
  for (const auto& held : of_tensor()) {
    const auto places = places_in(own_context(), held);
    leaving.insert(leaving.end(), places.begin(), places.end());
    to.push_back(size_of(places));
  }
  const int64_t count = to[size_t(group.rank())];
  const at::Tensor rows = ops::take_ranges(heads.permute({2, 0, 1, 3}), leaving);
  const at::Tensor come =
      parallel::exchange(rows, to, std::vector<int64_t>(size_t(ranks), count), group, what);
  return come.reshape({ranks, count, batch, own, width})
      .permute({2, 0, 3, 1, 4})
      .reshape({batch, ranks * own, count, width});
}

at::Tensor Sharding::own_heads(const at::Tensor& all, int64_t dim) const {
  const parallel::Group& group = world_.tensor;
  if (group.alone() || !all.defined()) return all;
  const int64_t own = all.size(dim) / group.size();
  return all.narrow(dim, group.rank() * own, own);
}

void check_heads(const torch::nn::Module& model, const parallel::World& world) {
  for (const auto& item : model.named_modules()) {
    const auto* part = dynamic_cast<const SharesHeads*>(item.value().get());
    if (part == nullptr) continue;
    LACT_CHECK(part->shared_heads() % world.mesh.tensor == 0,
               "[mesh] the {} heads of {} cannot be shared out among the {} ranks of the tensor axis",
               part->shared_heads(), item.key(), world.mesh.tensor);
  }
}

SequenceLayout share_out(const SequenceLayout& whole, const parallel::World& world) {
  if (world.mesh.shards() == 1) return whole;
  const auto sharding = std::make_shared<Sharding>(whole, world);
  SequenceLayout layout;
  layout.tokens = layout.keep_keys_from = layout.keep_writes_from = size_of(sharding->own());
  layout.schedule = part_of(whole.schedule, sharding->own_context());
  layout.unordered = whole.unordered;
  layout.positions = sharding->take(whole.positions, 0);
  for (const auto& document : whole.documents) layout.documents.push_back(share_out(document, world));
  layout.sharding = sharding;
  return layout;
}

}  // namespace lact
