// The forward pass of blocks of a few queries, such as the one token that is being written: k and v are
// streamed once for all heads. The workers share out the keys, and what each has seen is joined.
#include "lact/ops/attention/window_attention_run.h"

namespace lact::ops::fused {

namespace {

/// Keys that are worth a part of their own. How the keys are shared out must not depend on the number of
/// workers: sums of other parts are other numbers.
constexpr int64_t kKeysPerPart = 512;

/// One query of one sequence and the rows of keys that it sees.
struct Query {
  int64_t row;
  std::vector<Range> keys;
  int64_t num_keys = 0;

  Query(int64_t row, const kernels::QueriesAndKeys& piece) : row(row) {
    for (int64_t i = 0; i < piece.num_ranges; ++i) {
      const auto& visible = piece.ranges[i];
      const Range seen = {std::max(visible.begin, row + visible.oldest),
                          std::min(visible.end, row + visible.newest + 1)};
      if (seen.empty()) continue;
      keys.push_back(seen);
      num_keys += seen.size();
    }
  }

  /// Calls body for the ranges of keys number begin .. end of those it sees.
  template <class Body>
  void each_range(int64_t begin, int64_t end, const Body& body) const {
    for (const Range& range : keys) {
      const Range wanted = intersect({0, range.size()}, {begin, end});
      if (!wanted.empty()) body(range.begin + wanted.begin, range.begin + wanted.end);
      begin -= range.size();
      end -= range.size();
    }
  }
};

kernels::KeptRows kept_rows(const at::Tensor& x, const at::Tensor& scales, int64_t batch, int64_t head) {
  kernels::KeptRows rows = {address(x, batch, head), x.stride(1), x.stride(2), nullptr, 0};
  if (scales.defined()) {
    rows.scales = scales.data_ptr<float>() + batch * scales.stride(0) + head;
    rows.scale_stride = scales.stride(1);
  }
  return rows;
}

kernels::QueryHeads query_heads(const AttentionInputs& in, int64_t batch, int64_t row, Range heads) {
  const char* q = address(in.q, batch, heads.begin) + row * in.q.stride(1) * int64_t(in.q.element_size());
  return {q,
          in.q.stride(2),
          in.q.scalar_type() == at::kBFloat16,
          kept_rows(in.k, in.k_scales, batch, heads.begin),
          kept_rows(in.v, in.v_scales, batch, heads.begin),
          heads.size(),
          in.q.size(3),
          in.v.size(3),
          in.scale()};
}

kernels::QueryResult result_of(const at::Tensor& out, const at::Tensor& log_sums, int64_t batch, int64_t row,
                               int64_t head) {
  char* to = address(out, batch, head) + row * out.stride(1) * int64_t(out.element_size());
  float* sums = per_query(log_sums, batch, head);
  return {to, out.stride(2), sums == nullptr ? nullptr : sums + row,
          log_sums.defined() ? log_sums.size(2) : 0};
}

kernels::AttentionQueryKernels::AddKeys add_keys_of(const at::Tensor& k) {
  const auto& kernels = kernels::attention_query_kernels();
  if (k.scalar_type() == at::kChar) return kernels.bytes;
  return k.scalar_type() == at::kFloat ? kernels.f32 : kernels.bf16;
}

}  // namespace

void run_queries(const AttentionInputs& in, const AttentionPieces& window, const at::Tensor& out,
                 const at::Tensor& log_sums) {
  std::vector<Query> queries;
  int64_t most = 0;
  for (const auto& block : window.blocks()) {
    if (block.end - block.begin > kFewQueries) continue;
    for (int64_t row = block.begin; row < block.end; ++row) {
      queries.emplace_back(row, block);
      most = std::max(most, queries.back().num_keys);
    }
  }
  if (queries.empty()) return;
  const auto& kernels = kernels::attention_query_kernels();
  const auto add_keys = add_keys_of(in.k);
  const int64_t parts = std::max<int64_t>(1, (most + kKeysPerPart - 1) / kKeysPerPart);
  const int64_t lists = in.batch() * int64_t(queries.size());
  // Heads lie side by side in memory: they are parted only where there is too little else to do.
  const int64_t groups = std::clamp<int64_t>(num_workers() / (lists * parts), 1, in.num_heads());
  const int64_t group = (in.num_heads() + groups - 1) / groups;
  const int64_t words = (kernels.space(query_heads(in, 0, 0, {0, group})) + 31) / 32 * 32;
  const at::Tensor memory = at::empty({lists * groups * parts * words}, at::kInt);
  const auto space_of = [&](int64_t list, int64_t part) {
    return static_cast<uint32_t*>(memory.data_ptr()) + (list * parts + part) * words;
  };
  const auto visit = [&](int64_t list, const auto& body) {
    const Range heads = {list % groups * group, std::min(in.num_heads(), (list % groups + 1) * group)};
    const int64_t batch = list / groups % in.batch();
    if (!heads.empty()) body(queries[size_t(list / groups / in.batch())], batch, heads);
  };
  for_each_item(lists * groups * parts, [&](int64_t item, int64_t) {
    const int64_t list = item / parts, part = item % parts;
    visit(list, [&](const Query& query, int64_t batch, Range heads) {
      const auto rows = query_heads(in, batch, query.row, heads);
      kernels.start(rows, space_of(list, part));
      query.each_range(part * query.num_keys / parts, (part + 1) * query.num_keys / parts,
                       [&](int64_t begin, int64_t end) { add_keys(rows, begin, end, space_of(list, part)); });
    });
  });
  for_each_item(lists * groups, [&](int64_t list, int64_t) {
    visit(list, [&](const Query& query, int64_t batch, Range heads) {
      const auto rows = query_heads(in, batch, query.row, heads);
      for (int64_t part = 1; part < parts; ++part) {
        kernels.join(rows, space_of(list, 0), space_of(list, part));
      }
      kernels.finish(rows, space_of(list, 0), result_of(out, log_sums, batch, query.row, heads.begin));
    });
  });
}

}  // namespace lact::ops::fused
