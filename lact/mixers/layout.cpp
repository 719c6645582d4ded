#include "lact/mixers/layout.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/ops/attention/windows.h"

namespace lact {

namespace {

at::Tensor line(int64_t begin, int64_t end) { return at::arange(begin, end, at::kLong).unsqueeze(1); }

/// A whole sequence keeps nothing for later.
SequenceLayout whole(int64_t tokens) {
  SequenceLayout layout;
  layout.tokens = layout.keep_keys_from = layout.keep_writes_from = tokens;
  return layout;
}

/// (frame, row, column) of every token of a chunk whose first frame is `first_frame`; [tokens, 3].
at::Tensor grid_positions(const ChunkGrid& grid, int64_t first_frame) {
  const at::Tensor frame = at::arange(first_frame, first_frame + grid.frames, at::kLong);
  const auto axes =
      at::meshgrid({frame, at::arange(grid.rows, at::kLong), at::arange(grid.columns, at::kLong)}, "ij");
  return at::stack({axes[0].flatten(), axes[1].flatten(), axes[2].flatten()}, 1);
}

/// All tokens of a clean chunk for -1.
int64_t checked_visible(const ChunkGrid& grid, int64_t visible_clean) {
  LACT_CHECK(grid.frames > 0 && grid.rows > 0 && grid.columns > 0,
             "[layout] a chunk of {} frames of {} x {} tokens, expected at least 1 of each", grid.frames,
             grid.rows, grid.columns);
  LACT_CHECK(visible_clean <= grid.tokens(), "[layout] {} visible tokens of a clean chunk of {}",
             visible_clean, grid.tokens());
  return visible_clean < 0 ? grid.tokens() : visible_clean;
}

/// A chunk behind `index` others; nothing of it is left to be written later.
SequenceLayout chunk_piece(int64_t index, const ChunkGrid& grid) {
  LACT_CHECK(index >= 0, "[layout] chunk {}, expected 0 or more", index);
  SequenceLayout layout;
  layout.begin = index * grid.tokens();
  layout.tokens = grid.tokens();
  layout.positions = grid_positions(grid, index * grid.frames);
  layout.keep_writes_from = layout.end();
  return layout;
}

/// `range` without the parts that `covered` (sorted, disjoint) holds.
std::vector<Range> subtract(Range range, const std::vector<Range>& covered) {
  std::vector<Range> rest;
  for (const auto& taken : covered) {
    const Range before = {range.begin, std::min(range.end, taken.begin)};
    if (!before.empty()) rest.push_back(before);
    range.begin = std::max(range.begin, taken.end);
  }
  if (!range.empty()) rest.push_back(range);
  return rest;
}

/// Adds a range to sorted disjoint ones; neighbours become one.
void insert(std::vector<Range>& ranges, Range range) {
  const auto by_begin = [](Range a, Range b) { return a.begin < b.begin; };
  auto place = ranges.insert(std::lower_bound(ranges.begin(), ranges.end(), range, by_begin), range);
  if (place != ranges.begin() && (place - 1)->end == place->begin) {
    (place - 1)->end = place->end;
    place = ranges.erase(place) - 1;
  }
  if (place + 1 != ranges.end() && place->end == (place + 1)->begin) {
    place->end = (place + 1)->end;
    ranges.erase(place + 1);
  }
}

/// Sorted disjoint ranges of known tokens and the local keys that are not among them. Where these slide along
/// a stretch, they become one causal range from its beginning on, together with the known ones right before.
std::vector<ops::VisibleKeys> all_known(const std::vector<Range>& known,
                                        const std::vector<ops::VisibleKeys>& local, int64_t stretch_begin) {
  std::vector<ops::VisibleKeys> keys;
  for (const auto& range : known) keys.push_back({range});
  for (const auto& visible : local) {
    const int64_t begin = visible.band > 0 ? stretch_begin : visible.range.begin;
    for (Range rest : subtract({begin, visible.range.end}, known)) {
      if (visible.band > 0 && !keys.empty() && keys.back().range.end == rest.begin) {
        rest.begin = keys.back().range.begin;
        keys.pop_back();
      }
      keys.push_back({rest, visible.band > 0 ? rest.size() : 0});
    }
  }
  return keys;
}

}  // namespace

ops::RopeTable RopeTables::get(const at::Tensor& positions, int64_t head_dim,
                               const ops::RopeOptions& options) {
  const std::lock_guard lock(mutex_);
  // A copy of a layout shares its tables, and may be given other positions.
  if (!positions_.defined() || !positions_.is_same(positions)) entries_.clear();
  positions_ = positions;
  for (const auto& entry : entries_) {
    if (entry.head_dim == head_dim && entry.base == options.base) return entry.table;
  }
  entries_.push_back({head_dim, options.base, ops::rope_table(positions, head_dim, options)});
  return entries_.back().table;
}

ops::RopeTable SequenceLayout::rope_table(int64_t head_dim, const ops::RopeOptions& options,
                                          at::Device device) const {
  const ops::RopeTable table = rope_tables->get(positions, head_dim, options);
  const auto type = device.type() == at::kMPS ? at::kFloat : at::kDouble;  // Metal knows no float64
  return {table.cos.to(device, type), table.sin.to(device, type), table.angles.to(device)};
}

void check_tokens(const at::Tensor& x, const SequenceLayout& layout) {
  LACT_CHECK(x.dim() == 3, "[mixer] the input has shape {}, expected [B, T, M]", x.sizes().vec());
  LACT_CHECK(x.size(1) == layout.tokens, "[mixer] the input has {} tokens but the layout is for {}",
             x.size(1), layout.tokens);
}

SequenceLayout causal_layout(int64_t tokens, int64_t chunk, int64_t window) {
  SequenceLayout layout = whole(tokens);
  layout.schedule = ttt::shifted_schedule(tokens, chunk);
  layout.window = ops::sliding_window({0, tokens}, window);
  layout.stretches = {{{0, tokens}, Passage::remembered}};
  layout.positions = line(0, tokens);
  return layout;
}

SequenceLayout causal_piece(int64_t begin, int64_t tokens, int64_t chunk, int64_t window) {
  SequenceLayout layout;
  layout.begin = begin;
  layout.tokens = tokens;
  layout.schedule = ttt::shifted_piece(begin, tokens, chunk);
  layout.window = ops::sliding_window({begin, begin + tokens}, window);
  layout.stretches = {{{begin, begin + tokens}, Passage::remembered}};
  layout.positions = line(begin, begin + tokens);
  layout.keep_writes_from = layout.end() / chunk * chunk;
  // Those that the first token of the chunk sees: its other tokens may be forgotten and others follow.
  layout.keep_keys_from = std::max<int64_t>(0, layout.keep_writes_from - window + 1);
  return layout;
}

SequenceLayout packed_layout(const std::vector<int64_t>& document_lengths, int64_t chunk, int64_t window) {
  LACT_CHECK(!document_lengths.empty(), "[layout] there are no documents, expected at least 1");
  SequenceLayout layout;
  layout.schedule = ttt::packed_schedule(document_lengths, chunk);
  std::vector<at::Tensor> positions;
  for (const int64_t length : document_lengths) {
    const Range tokens = {layout.tokens, layout.tokens + length};
    layout.documents.push_back(causal_layout(length, chunk, window));
    const auto blocks = ops::sliding_window(tokens, window, tokens.begin).blocks;
    layout.window.blocks.insert(layout.window.blocks.end(), blocks.begin(), blocks.end());
    layout.stretches.push_back({tokens, Passage::remembered});
    positions.push_back(layout.documents.back().positions);
    layout.tokens = tokens.end;
  }
  layout.keep_keys_from = layout.keep_writes_from = layout.tokens;
  layout.positions = at::cat(positions);
  return layout;
}

std::vector<int64_t> document_lengths(const SequenceLayout& layout) {
  std::vector<int64_t> lengths;
  for (const auto& document : layout.documents) lengths.push_back(document.tokens);
  return lengths;
}

SequenceLayout views_layout(int64_t inputs, int64_t targets, int64_t tokens_per_view) {
  LACT_CHECK(inputs >= 0 && targets >= 0 && inputs + targets > 0,
             "[layout] {} input and {} target views, expected at least one view", inputs, targets);
  const int64_t tokens = (inputs + targets) * tokens_per_view;
  SequenceLayout layout = whole(tokens);
  layout.window = ops::block_window(tokens, tokens_per_view);
  if (inputs > 0) layout.schedule.push_back({ttt::Operation::update, {0, inputs * tokens_per_view}});
  layout.schedule.push_back({ttt::Operation::apply, {0, tokens}});
  layout.unordered = true;
  if (inputs > 0) layout.stretches.push_back({{0, inputs * tokens_per_view}, Passage::remembered});
  if (targets > 0) layout.stretches.push_back({{inputs * tokens_per_view, tokens}, Passage::read_only});
  layout.positions = line(0, tokens);
  return layout;
}

SequenceLayout interleaved_layout(int64_t chunks, const ChunkGrid& grid, int64_t noise_repeats,
                                  int64_t visible_clean) {
  LACT_CHECK(chunks > 0, "[layout] {} chunks, expected at least 1", chunks);
  LACT_CHECK(noise_repeats > 0, "[layout] {} noisy copies of a chunk, expected at least 1", noise_repeats);
  visible_clean = checked_visible(grid, visible_clean);
  const int64_t size = grid.tokens();

  SequenceLayout layout = whole((chunks * (noise_repeats + 1) - 1) * size);
  std::vector<at::Tensor> positions;
  int64_t begin = 0;
  Range clean_before;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const at::Tensor chunk_positions = grid_positions(grid, chunk * grid.frames);
    layout.schedule.push_back({ttt::Operation::apply, {begin, begin + noise_repeats * size}});
    for (int64_t copy = 0; copy < noise_repeats; ++copy, begin += size) {
      const Range noisy = {begin, begin + size};
      ops::AttentionBlock block = {noisy, {{noisy}}};
      if (!clean_before.empty() && visible_clean > 0) {
        block.keys.insert(block.keys.begin(), {{clean_before.end - visible_clean, clean_before.end}});
      }
      layout.window.blocks.push_back(std::move(block));
      layout.stretches.push_back({noisy, Passage::reverted});
      positions.push_back(chunk_positions);
    }
    if (chunk + 1 == chunks) break;
    clean_before = {begin, begin + size};
    layout.schedule.push_back({ttt::Operation::update_then_apply, clean_before});
    layout.window.blocks.push_back({clean_before, {{clean_before}}});
    layout.stretches.push_back({clean_before, Passage::remembered});
    positions.push_back(chunk_positions);
    begin += size;
  }
  layout.positions = at::cat(positions);
  return layout;
}

SequenceLayout noisy_piece(int64_t index, const ChunkGrid& grid, int64_t visible_clean) {
  visible_clean = checked_visible(grid, visible_clean);
  SequenceLayout layout = chunk_piece(index, grid);
  const Range chunk = {layout.begin, layout.end()};
  layout.schedule = {{ttt::Operation::apply, chunk}};
  ops::AttentionBlock block = {chunk, {{chunk}}};
  if (index > 0 && visible_clean > 0) {
    block.keys.insert(block.keys.begin(), {{chunk.begin - visible_clean, chunk.begin}});
  }
  layout.window.blocks = {std::move(block)};
  layout.stretches = {{chunk, Passage::reverted}};
  layout.keep_keys_from = layout.end();
  return layout;
}

SequenceLayout clean_piece(int64_t index, const ChunkGrid& grid, int64_t visible_clean) {
  visible_clean = checked_visible(grid, visible_clean);
  SequenceLayout layout = chunk_piece(index, grid);
  const Range chunk = {layout.begin, layout.end()};
  layout.schedule = {{ttt::Operation::update_then_apply, chunk}};
  layout.window.blocks = {{chunk, {{chunk}}}};
  layout.stretches = {{chunk, Passage::remembered}};
  layout.keep_keys_from = layout.end() - visible_clean;
  return layout;
}

ops::Window full_window(const SequenceLayout& layout, int64_t kept) {
  LACT_CHECK(!layout.stretches.empty(),
             "[layout] full attention needs stretches, which say what is remembered, but there are none");
  ops::Window full;
  std::vector<Range> known;
  if (kept > 0) known.push_back({layout.begin - kept, layout.begin});
  if (layout.unordered) {  // order means nothing: what is written at any time
    for (const auto& [operation, tokens] : layout.schedule)
      if (ttt::updates(operation)) insert(known, tokens);
  }
  for (const auto& stretch : layout.stretches) {
    if (!layout.documents.empty()) known.clear();  // each is a stretch that knows of no other
    std::vector<Range> with_window;
    for (const auto& block : layout.window.blocks) {
      const Range queries = intersect(block.queries, stretch.tokens);
      if (queries.empty()) continue;
      insert(with_window, queries);
      full.blocks.push_back({queries, all_known(known, block.keys, stretch.tokens.begin)});
    }
    for (const auto& queries : subtract(stretch.tokens, with_window)) {
      if (!known.empty()) full.blocks.push_back({queries, all_known(known, {}, queries.begin)});
    }
    if (!layout.unordered && stretch.passage == Passage::remembered) insert(known, stretch.tokens);
  }
  return full;
}

at::Tensor layout_mask(const SequenceLayout& layout) {
  return ttt::schedule_mask(layout.schedule, layout.tokens)
      .logical_or(ops::window_mask(layout.window, layout.tokens));
}

at::Tensor recurrence_mask(const SequenceLayout& layout) {
  LACT_CHECK(layout.begin == 0, "[layout] a mask is of a whole sequence, but this piece begins at token {}",
             layout.begin);
  at::Tensor mask = at::zeros({layout.tokens, layout.tokens}, at::kBool);
  at::Tensor known = at::zeros({layout.tokens}, at::kBool);
  for (size_t i = 0; i < layout.stretches.size();) {
    const Passage passage = layout.stretches[i].passage;
    Range tokens = layout.stretches[i++].tokens;
    // Neighbours that are remembered are one set.
    while (passage == Passage::remembered && i < layout.stretches.size() &&
           layout.stretches[i].passage == passage)
      tokens.end = layout.stretches[i++].tokens.end;
    mask.slice(0, tokens.begin, tokens.end).copy_(known.expand({tokens.size(), layout.tokens}));
    if (passage == Passage::read_only) continue;
    at::Tensor among = at::ones({tokens.size(), tokens.size()}, at::kBool);
    if (!layout.unordered) among = among.tril();
    mask.slice(0, tokens.begin, tokens.end).slice(1, tokens.begin, tokens.end).copy_(among);
    if (passage == Passage::remembered) known.slice(0, tokens.begin, tokens.end).fill_(true);
  }
  return mask;
}

}  // namespace lact
