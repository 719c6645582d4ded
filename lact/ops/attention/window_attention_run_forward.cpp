// The forward pass: shares out heads and pieces of queries.
#include "lact/ops/attention/window_attention_run.h"

namespace lact::ops::fused {

namespace {

/// Blocks of many queries: one item is a piece of one head.
void run_tiles(const AttentionInputs& in, const AttentionPieces& window, const at::Tensor& out,
               const at::Tensor& log_sums) {
  const int64_t heads = in.batch() * in.num_heads();
  // Shorter pieces where there are few heads, so that every worker gets some.
  const int64_t share = in.num_queries() * heads / (4 * num_workers());
  const auto pieces =
      window.cut(kFewQueries, std::clamp<int64_t>(share / 64 * 64, 64, kernels::kQueriesAtOnce));
  if (pieces.empty()) return;
  const auto& kernel = kernels_for(kernels::attention_forward_kernels(), in);
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

}  // namespace

at::Tensor run_attention(const AttentionInputs& in, const AttentionPieces& window,
                         const at::Tensor& log_sums) {
  const std::vector<int64_t> sizes = {in.batch(), in.num_queries(), in.num_heads(), in.v.size(3)};
  const bool all = window.num_queries() == in.num_queries();
  const at::Tensor out = all ? at::empty(sizes, in.q.options()) : at::zeros(sizes, in.q.options());
  run_tiles(in, window, out, log_sums);
  run_queries(in, window, out, log_sums);
  return out;
}

}  // namespace lact::ops::fused
