// The backward pass: shares out heads and, where these are too few, ranges of keys.
#include "lact/ops/attention/window_attention_run.h"

namespace lact::ops::fused {

namespace {

/// A range of keys and the queries that see them, whose gradient it adds to.
struct KeyPart {
  Range keys, queries;
};

/// Every head is one part where the heads keep all workers busy; otherwise keys are shared out too, and the
/// gradients of the queries are summed over the parts, always in the same order.
std::vector<KeyPart> key_parts(const AttentionInputs& in, const AttentionPieces& window) {
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

/// rowsum(out * its gradient), [B, H, T].
at::Tensor out_products(const AttentionInputs& in, const at::Tensor& out, const at::Tensor& out_gradient) {
  const auto& kernel = kernels_for(kernels::attention_backward_kernels(), in);
  at::Tensor products = at::empty({in.batch(), in.num_heads(), in.num_queries()}, at::kFloat);
  for_each_item(in.batch() * in.num_heads(), [&](int64_t item, int64_t) {
    const int64_t batch = item / in.num_heads(), head = item % in.num_heads();
    kernel.row_products(rows_of(out, batch, head), rows_of(out_gradient, batch, head), in.num_queries(),
                        in.v.size(3), per_query(products, batch, head));
  });
  return products;
}

}  // namespace

void run_attention_backward(const AttentionInputs& in, const AttentionPieces& window, const at::Tensor& out,
                            const at::Tensor& out_gradient, const at::Tensor& log_sums,
                            const InputGradients& gradients) {
  const auto& kernel = kernels_for(kernels::attention_backward_kernels(), in);
  const at::Tensor products = out_products(in, out, out_gradient);
  const auto parts = key_parts(in, window);
  const int64_t heads = in.batch() * in.num_heads(), width = in.q.size(3), columns = (width + 31) / 32 * 32;

  // Sums of one head's queries, which a worker uses again and again, or of every part of every head.
  std::vector<int64_t> offsets = {0};
  for (const auto& part : parts)
    offsets.push_back(offsets.back() + (part.queries.size() + kernels::kQuerySlack) * columns);
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
      std::fill_n(q_sums, (queries.size() + kernels::kQuerySlack) * columns, 0.f);
    }
    const kernels::AttentionHead inputs = in.head(batch, head);
    for (int64_t begin = keys.begin; begin < keys.end; begin += kernels::kKeysAtOnce) {
      kernel.key_block(
          inputs,
          {rows_of(out_gradient, batch, head), per_query(log_sums, batch, head),
           per_query(products, batch, head)},
          begin, std::min(begin + kernels::kKeysAtOnce, keys.end), window.blocks().data(),
          int64_t(window.blocks().size()),
          {q_sums, queries.begin, output_of(gradients.k, batch, head), output_of(gradients.v, batch, head)},
          spaces.of(worker));
    }
    if (whole && q_sums != nullptr) {
      kernels::HeadOutput to = output_of(gradients.q.narrow(1, queries.begin, queries.size()), batch, head);
      kernel.write_rows(q_sums, columns, queries.size(), width, inputs.scale, to);
    }
  });
  if (whole || !gradients.q.defined()) return;

  Spaces totals((in.num_queries() + kernels::kQuerySlack) * columns);
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

}  // namespace lact::ops::fused
