// Window attention on a processor: shares out heads and pieces of queries (forward) or keys (backward).
#include <ATen/ATen.h>
#include <torch/autograd.h>

#include <cmath>

#include "lact/ops/window_attention.h"
#include "lact/ops/window_attention_pieces.h"
#include "lact/ops/work_items.h"

namespace lact::ops::fused {

namespace {

using kernels::AttentionHead;
using kernels::HeadOutput;
using kernels::HeadRows;
using kernels::QueriesAndKeys;

/// Queries of so small a block are streamed one by one: packing the keys would cost more.
constexpr int64_t kFewQueries = 4;

char* address(const at::Tensor& x, int64_t batch, int64_t head) {
  return static_cast<char*>(x.data_ptr()) +
         (batch * x.stride(0) + head * x.stride(2)) * int64_t(x.element_size());
}
HeadRows rows_of(const at::Tensor& x, int64_t batch, int64_t head) {
  return {address(x, batch, head), x.stride(1)};
}
HeadOutput output_of(const at::Tensor& x, int64_t batch, int64_t head) {
  if (!x.defined()) return {nullptr, 0};
  return {address(x, batch, head), x.stride(1)};
}

struct Inputs {
  at::Tensor q, k, v;  // [B, T, H, D]
  int64_t batch() const { return q.size(0); }
  int64_t num_heads() const { return q.size(2); }
  int64_t num_queries() const { return q.size(1); }
  int64_t num_keys() const { return k.size(1); }
  AttentionHead head(int64_t batch, int64_t head) const {
    return {rows_of(q, batch, head),
            rows_of(k, batch, head),
            rows_of(v, batch, head),
            q.size(3),
            v.size(3),
            float(1 / std::sqrt(double(q.size(3))))};
  }
};

/// The kernels for the type of the inputs; bfloat16 as pairs where the processor multiplies them.
template <class Table>
const auto& kernels_for(const Table& table, const Inputs& in) {
  if (in.q.scalar_type() == at::kFloat) return table.f32;
  return kernels::multiplies_pairs() ? table.bf16_pairs : table.bf16;
}

/// A space of `words` for every worker.
class Spaces {
 public:
  explicit Spaces(int64_t words)
      : words_((words + 31) / 32 * 32), memory_(at::empty({num_workers() * words_}, at::kInt)) {}
  uint32_t* of(int64_t worker) { return static_cast<uint32_t*>(memory_.data_ptr()) + worker * words_; }
  float* floats_of(int64_t worker) { return reinterpret_cast<float*>(of(worker)); }

 private:
  int64_t words_;
  at::Tensor memory_;
};

float* log_sums_of(const at::Tensor& log_sums, int64_t batch, int64_t head) {
  if (!log_sums.defined()) return nullptr;
  return log_sums.data_ptr<float>() + (batch * log_sums.size(1) + head) * log_sums.size(2);
}

/// Blocks of many queries: one item is a piece of one head.
void run_tiles(const Inputs& in, const AttentionPieces& window, const at::Tensor& out,
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
                 log_sums_of(log_sums, batch, head), spaces.of(worker));
  });
}

/// Blocks of a few queries: one item is one query of several neighbouring heads.
void run_queries(const Inputs& in, const AttentionPieces& window, const at::Tensor& out,
                 const at::Tensor& log_sums) {
  const auto& table = kernels::attention_query_kernels();
  const auto& kernel = in.q.scalar_type() == at::kFloat ? table.f32 : table.bf16;
  struct Query {
    int64_t row;
    const QueriesAndKeys* piece;
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
                  row, *piece, output_of(out, batch, head), log_sums_of(log_sums, batch, head),
                  spaces.of(worker));
  });
}

/// log_sums is empty or [B, H, T].
at::Tensor run_forward(const Inputs& in, const AttentionPieces& window, const at::Tensor& log_sums) {
  const std::vector<int64_t> sizes = {in.batch(), in.num_queries(), in.num_heads(), in.v.size(3)};
  const bool all = window.num_queries() == in.num_queries();
  const at::Tensor out = all ? at::empty(sizes, in.v.options()) : at::zeros(sizes, in.v.options());
  run_tiles(in, window, out, log_sums);
  run_queries(in, window, out, log_sums);
  return out;
}

/// A range of keys and the queries that see them, whose gradient it adds to.
struct KeyPart {
  Range keys, queries;
};

/// Every head is one part where the heads keep all workers busy; otherwise keys are shared out too, and the
/// gradients of the queries are summed over the parts, always in the same order.
std::vector<KeyPart> key_parts(const Inputs& in, const AttentionPieces& window) {
  const int64_t heads = in.batch() * in.num_heads(), workers = num_workers();
  const int64_t blocks = (in.num_keys() + kernels::kKeysAtOnce - 1) / kernels::kKeysAtOnce;
  int64_t parts = 1;
  const auto busy = [&](int64_t count) {
    const int64_t rounds = (heads * count + workers - 1) / workers;
    return double(heads * count) / double(rounds * workers);
  };
  while (parts < blocks && busy(parts) < 0.9) ++parts;
  const int64_t size = (blocks + parts - 1) / parts * kernels::kKeysAtOnce;
  std::vector<KeyPart> result;
  for (int64_t begin = 0; begin < in.num_keys(); begin += size) {
    const Range keys = {begin, std::min(begin + size, in.num_keys())};
    result.push_back({keys, window.queries_of(keys)});
  }
  return result;
}

struct Gradients {
  at::Tensor q, k, v;  // undefined: not wanted
};

/// rowsum(out * its gradient), [B, H, T].
at::Tensor out_products(const Inputs& in, const at::Tensor& out, const at::Tensor& out_gradient) {
  const auto& kernel = kernels_for(kernels::attention_backward_kernels(), in);
  at::Tensor products = at::empty({in.batch(), in.num_heads(), in.num_queries()}, at::kFloat);
  for_each_item(in.batch() * in.num_heads(), [&](int64_t item, int64_t) {
    const int64_t batch = item / in.num_heads(), head = item % in.num_heads();
    kernel.row_products(rows_of(out, batch, head), rows_of(out_gradient, batch, head), in.num_queries(),
                        in.v.size(3), log_sums_of(products, batch, head));
  });
  return products;
}

void run_backward(const Inputs& in, const AttentionPieces& window, const at::Tensor& out,
                  const at::Tensor& out_gradient, const at::Tensor& log_sums, const Gradients& gradients) {
  const auto& kernel = kernels_for(kernels::attention_backward_kernels(), in);
  const at::Tensor products = out_products(in, out, out_gradient);
  const auto parts = key_parts(in, window);
  const int64_t heads = in.batch() * in.num_heads(), width = in.q.size(3), columns = (width + 31) / 32 * 32;

  // Sums of one head's queries, which a worker uses again and again, or of every part of every head.
  std::vector<int64_t> offsets = {0};
  for (const auto& part : parts) offsets.push_back(offsets.back() + (part.queries.size() + 8) * columns);
  const bool whole = parts.size() == 1;
  const int64_t sums_size = gradients.q.defined() ? offsets.back() : 0;
  const at::Tensor sums = at::empty({whole ? num_workers() : heads, sums_size}, at::kFloat);

  Spaces spaces(kernel.space(in.head(0, 0), std::min(kernels::kKeysAtOnce, in.num_keys())));
  for_each_item(heads * int64_t(parts.size()), [&](int64_t item, int64_t worker) {
    const int64_t head_index = item / int64_t(parts.size()), index = item % int64_t(parts.size());
    const int64_t batch = head_index / in.num_heads(), head = head_index % in.num_heads();
    const auto& [keys, queries] = parts[size_t(index)];
    float* q_sums = nullptr;
    if (gradients.q.defined()) {
      q_sums = sums.data_ptr<float>() + (whole ? worker : head_index) * sums_size + offsets[size_t(index)];
      std::fill_n(q_sums, (queries.size() + 8) * columns, 0.f);
    }
    const AttentionHead inputs = in.head(batch, head);
    for (int64_t begin = keys.begin; begin < keys.end; begin += kernels::kKeysAtOnce) {
      kernel.key_block(
          inputs,
          {rows_of(out_gradient, batch, head), log_sums_of(log_sums, batch, head),
           log_sums_of(products, batch, head)},
          begin, std::min(begin + kernels::kKeysAtOnce, keys.end), window.blocks().data(),
          int64_t(window.blocks().size()),
          {q_sums, queries.begin, output_of(gradients.k, batch, head), output_of(gradients.v, batch, head)},
          spaces.of(worker));
    }
    if (whole && q_sums != nullptr) {
      HeadOutput to = output_of(gradients.q.narrow(1, queries.begin, queries.size()), batch, head);
      kernel.write_rows(q_sums, columns, queries.size(), width, inputs.scale, to);
    }
  });
  if (whole || !gradients.q.defined()) return;

  Spaces totals((in.num_queries() + 8) * columns);
  for_each_item(heads, [&](int64_t head_index, int64_t worker) {
    const int64_t batch = head_index / in.num_heads(), head = head_index % in.num_heads();
    float* total = totals.floats_of(worker);
    std::fill_n(total, in.num_queries() * columns, 0.f);
    for (size_t i = 0; i < parts.size(); ++i) {
      const float* from = sums.data_ptr<float>() + head_index * sums_size + offsets[i];
      float* to = total + parts[i].queries.begin * columns;
      for (int64_t j = 0; j < parts[i].queries.size() * columns; ++j) to[j] += from[j];
    }
    kernel.write_rows(total, columns, in.num_queries(), width, in.head(batch, head).scale,
                      output_of(gradients.q, batch, head));
  });
}

struct WindowAttention : torch::autograd::Function<WindowAttention> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& q,
                            const at::Tensor& k, const at::Tensor& v,
                            const c10::intrusive_ptr<AttentionPieces>& window) {
    const Inputs in = {q, k, v};
    const at::Tensor log_sums = at::empty({in.batch(), in.num_heads(), in.num_queries()}, at::kFloat);
    const at::Tensor out = run_forward(in, *window, log_sums);
    context->save_for_backward({q, k, v, out, log_sums});
    context->saved_data["window"] = at::IValue::make_capsule(window);
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list incoming) {
    const auto saved = context->get_saved_variables();
    const auto window =
        c10::static_intrusive_pointer_cast<AttentionPieces>(context->saved_data["window"].toCapsule());
    const Inputs in = {saved[0], saved[1], saved[2]};
    const auto wanted = [&](size_t i, const at::Tensor& x, auto make) {
      return context->needs_input_grad(i) ? make(x.sizes(), x.options()) : at::Tensor();
    };
    const auto empty = [](auto sizes, auto options) { return at::empty(sizes, options); };
    const auto zeros = [](auto sizes, auto options) { return at::zeros(sizes, options); };
    // Queries outside of all blocks are not visited; every key is.
    const Gradients gradients = {wanted(0, in.q, zeros), wanted(1, in.k, empty), wanted(2, in.v, empty)};
    const at::Tensor out_gradient = incoming[0].stride(3) == 1 ? incoming[0] : incoming[0].contiguous();
    run_backward(in, *window, saved[3], out_gradient, saved[4], gradients);
    return {gradients.q, gradients.k, gradients.v, at::Tensor()};
  }
};

}  // namespace

bool fits(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const auto usable = [&](const at::Tensor& x) {
    return x.is_cpu() && x.layout() == at::kStrided && x.scalar_type() == q.scalar_type() && x.numel() > 0 &&
           x.stride(3) == 1;
  };
  return (q.scalar_type() == at::kFloat || q.scalar_type() == at::kBFloat16) && usable(q) && usable(k) &&
         usable(v);
}

at::Tensor window_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const Window& window, int64_t first_query, int64_t first_key) {
  const auto pieces = c10::make_intrusive<AttentionPieces>(window, first_query, first_key);
  const bool differentiable =
      at::GradMode::is_enabled() && (q.requires_grad() || k.requires_grad() || v.requires_grad());
  if (!differentiable) return run_forward({q, k, v}, *pieces, at::Tensor());
  return WindowAttention::apply(q, k, v, pieces);
}

}  // namespace lact::ops::fused
