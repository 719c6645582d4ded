// The forward pass: shares out heads and pieces of queries.
#include "lact/ops/attention/window_attention_run.h"

namespace lact::ops::fused {

namespace {

/// Queries of so small a block are streamed one by one: packing the keys would cost more.
constexpr int64_t kFewQueries = 4;

/// Blocks of many queries: one item is a piece of one head.
void run_tiles(const AttentionInputs& in, const AttentionPieces& window, const at::Tensor& out,
               const at::Tensor& log_sums) {
  const auto& kernel = kernels_for(kernels::attention_forward_kernels(), in);
  const int64_t heads = in.batch() * in.num_heads();
  // Shorter pieces where there are few heads, so that every worker gets some.
  const int64_t share = in.num_queries() * heads / (4 * num_workers());
  const auto pieces =
      window.cut(kFewQueries, std::clamp<int64_t>(share / 64 * 64, 64, kernels::kQueriesAtOnce));
  int64_t words = 0;
  for (const auto& piece : pieces) {
    words = std::max(words, kernel.space(in.head(0, 0), piece.end - piece.begin, most_keys(piece)));
  }
  Spaces spaces(words);
  for_each_item(int64_t(pieces.size()) * heads, [&](int64_t item, int64_t worker) {
    const int64_t head = item / int64_t(pieces.size()) % in.num_heads();
    const int64_t batch = item / int64_t(pieces.size()) / in.num_heads();
    kernel.tiles(in.head(batch, head), pieces[size_t(item) % pieces.size()], output_of(out, batch, head),
                 per_query(log_sums, batch, head), spaces.of(worker));
  });
}

/// Blocks of a few queries: one item is one query of several neighbouring heads.
void run_queries(const AttentionInputs& in, const AttentionPieces& window, const at::Tensor& out,
                 const at::Tensor& log_sums) {
  const auto& table = kernels::attention_query_kernels();
  const auto& kernel = in.q.scalar_type() == at::kFloat ? table.f32 : table.bf16;
  struct Query {
    int64_t row;
    const kernels::QueriesAndKeys* piece;
  };
  std::vector<Query> queries;
  for (const auto& block : window.blocks()) {
    if (block.end - block.begin > kFewQueries) continue;
    for (int64_t row = block.begin; row < block.end; ++row) queries.push_back({row, &block});
  }
  if (queries.empty()) return;
  const int64_t lists = in.batch() * int64_t(queries.size());
  const int64_t groups = std::clamp<int64_t>((num_workers() + lists - 1) / lists, 1, in.num_heads());
  const int64_t group = (in.num_heads() + groups - 1) / groups;
  Spaces spaces(kernel.space(in.head(0, 0), group));
  for_each_item(lists * groups, [&](int64_t item, int64_t worker) {
    const int64_t head = item % groups * group, batch = item / groups % in.batch();
    const int64_t count = std::min(group, in.num_heads() - head);
    if (count <= 0) return;
    const auto& [row, piece] = queries[size_t(item / groups / in.batch())];
    kernel.stream(in.head(batch, head),
                  {count, in.q.stride(2), in.k.stride(2), in.v.stride(2), out.stride(2), in.num_queries()},
                  row, *piece, output_of(out, batch, head), per_query(log_sums, batch, head),
                  spaces.of(worker));
  });
}

}  // namespace

at::Tensor run_attention(const AttentionInputs& in, const AttentionPieces& window,
                         const at::Tensor& log_sums) {
  const std::vector<int64_t> sizes = {in.batch(), in.num_queries(), in.num_heads(), in.v.size(3)};
  const bool all = window.num_queries() == in.num_queries();
  const at::Tensor out = all ? at::empty(sizes, in.v.options()) : at::zeros(sizes, in.v.options());
  run_tiles(in, window, out, log_sums);
  run_queries(in, window, out, log_sums);
  return out;
}

}  // namespace lact::ops::fused
