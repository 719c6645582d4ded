// Runs a recurrence chunk by chunk on a processor. Heads, and where they are too few blocks of value columns,
// are shared out among the workers. The backward pass keeps the states before as many chunks as take no more
// memory than keys and values do, and makes the others again; what blocks of columns or heads with common
// keys add to one gradient is summed in one order.
#pragma once

#include <torch/autograd.h>

#include <memory>

#include "lact/ops/dispatch/work_items.h"
#include "lact/ops/recurrences/chunk_rule.h"
#include "lact/ops/recurrences/paths.h"
#include "lact/ops/tokens/head_tokens.h"

namespace lact::ops::fused {

/// Tokens of a chunk. Every chunk reads and writes the state, every token all the others of its chunk: the
/// wider the state, the longer a chunk pays.
inline int64_t chunk_rows(int64_t width) { return width < 256 ? 64 : kernels::kMostChunkRows; }

/// New tokens [B, H, T, W] whose heads lie beside each other, as projections want them.
inline at::Tensor new_tokens(const at::Tensor& like, int64_t width) {
  return at::empty({like.size(0), like.size(2), like.size(1), width}, like.options()).transpose(1, 2);
}

template <class Rule>
class RecurrenceRun {
 public:
  RecurrenceRun(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& gate,
                double scale)
      : values_(v),
        shared_keys_(k.size(1) != v.size(1)),
        q_(q.expand({-1, v.size(1), -1, -1})),
        k_(k.expand({-1, v.size(1), -1, -1})),
        v_(v),
        gate_(gate.dim() == 3 ? gate.unsqueeze(-1) : gate) {
    const bool pairs = v_.bf16() && kernels::multiplies_pairs();
    choose_blocks();
    sizes_ = {chunk_rows(k.size(3)), k.size(3), block_,
              pairs ? kernels::Packing::pairs : kernels::Packing::singles, float(scale)};
  }

  /// The states that the backward pass needs.
  at::Tensor new_boundaries() const { return at::empty({num_items(), segments(), state_size()}, at::kFloat); }
  /// And the rows, or none.
  at::Tensor new_rows() const { return new_tokens(values_, Rule::kKeepsRows ? values_.size(3) : 0); }

  /// `boundaries` and `kept` are undefined where no backward pass follows.
  RecurrenceResult forward(const at::Tensor& state, const at::Tensor& boundaries,
                           const at::Tensor& kept) const {
    const RecurrenceResult result = {new_tokens(values_, values_.size(3)),
                                     at::empty(state.sizes(), at::kFloat)};
    const HeadTokens before(state), behind(result.state), out(result.out), rows_kept = kept_rows(kept);
    each_item([&](Rule& rule, Bench& bench, const Item& item) {
      const kernels::FloatRows now = state_rows(bench.numbers(state_size()));
      kernel_.read_rows(rows(before, item, 0), sizes_.width, item.columns, nullptr, now);
      for (int64_t i = 0; i < chunks(); ++i) {
        if (boundaries.defined() && i % segment() == 0) {
          std::copy_n(now.numbers, state_size(), boundary(boundaries, item, i / segment()));
        }
        rule.read(chunk(item, i, rows_kept), now, outputs(out, item, i * sizes_.rows, item.column));
      }
      kernel_.write_rows(now, sizes_.width, item.columns, outputs(behind, item, 0, item.column));
    });
    return result;
  }

  /// Gradients of q, k, v, the gate and the state.
  std::vector<at::Tensor> backward(const at::Tensor& boundaries, const at::Tensor& kept,
                                   const at::Tensor& out_gradient, const at::Tensor& state_gradient) const {
    const bool partial = blocks_ > 1 || shared_keys_;
    const at::Tensor dq = key_gradient(partial), dk = key_gradient(partial);
    const at::Tensor dv = new_tokens(values_, values_.size(3));
    const at::Tensor dgate =
        at::empty({blocks_ * values_.size(0), values_.size(1), values_.size(2), gate_.width()}, at::kFloat);
    const at::Tensor dstate = at::empty(state_gradient.sizes(), at::kFloat);
    const HeadTokens dout(out_gradient), slope_behind(state_gradient), slope_before(dstate);
    const HeadTokens q(dq), k(dk), v(dv), gate(dgate), rows_kept = kept_rows(kept);
    each_item([&](Rule& rule, Bench& bench, const Item& item) {
      std::vector<kernels::FloatRows> states(static_cast<size_t>(segment()));
      for (size_t i = 1; i < states.size(); ++i) states[i] = state_rows(bench.numbers(state_size()));
      const kernels::FloatRows slope = state_rows(bench.numbers(state_size()));
      kernel_.read_rows(rows(slope_behind, item, 0), sizes_.width, item.columns, nullptr, slope);
      for (int64_t first = (segments() - 1) * segment(); first >= 0; first -= segment()) {
        const int64_t count = std::min(segment(), chunks() - first);
        states[0] = state_rows(boundary(boundaries, item, first / segment()));
        for (int64_t i = 0; i + 1 < count; ++i) {
          rule.write(chunk(item, first + i, rows_kept), states[size_t(i)], states[size_t(i + 1)]);
        }
        for (int64_t i = count - 1; i >= 0; --i) {
          const int64_t token = (first + i) * sizes_.rows;
          const kernels::OutputRows gates = part(gate, item, partial_head(item), token, 0);
          const ChunkGradients gradients = {rows(dout, item, token),
                                            part(q, item, partial ? partial_head(item) : item.head, token, 0),
                                            part(k, item, partial ? partial_head(item) : item.head, token, 0),
                                            outputs(v, item, token, item.column),
                                            {static_cast<float*>(gates.numbers), gates.stride}};
          rule.differentiate(chunk(item, first + i, rows_kept), gradients, states[size_t(i)], slope);
        }
      }
      kernel_.write_rows(slope, sizes_.width, item.columns, outputs(slope_before, item, 0, item.column));
    });
    at::Tensor gate_sum = sum_of_blocks(dgate);
    return {key_sum(dq, partial), key_sum(dk, partial), dv, gate_sum, dstate};
  }

 private:
  struct Item {
    int64_t index, head, block, column, columns;
  };

  int64_t heads() const { return v_.heads(); }
  int64_t num_items() const { return heads() * blocks_; }
  int64_t chunks() const { return (v_.tokens() + sizes_.rows - 1) / sizes_.rows; }
  /// Chunks from one state that is kept to the next.
  int64_t segment() const {
    const int64_t tokens = sizes_.rows * (sizes_.width + block_) * values_.element_size();  // k and v
    const int64_t state = state_size() * int64_t(sizeof(float));
    return (state + tokens - 1) / tokens;
  }
  int64_t segments() const { return (chunks() + segment() - 1) / segment(); }
  int64_t state_stride() const { return kernels::round_up_to(block_, 32); }
  int64_t state_size() const { return sizes_.width * state_stride(); }
  kernels::FloatRows state_rows(float* numbers) const { return {numbers, state_stride()}; }
  float* boundary(const at::Tensor& boundaries, const Item& item, int64_t segment) const {
    return boundaries.data_ptr<float>() + (item.index * segments() + segment) * state_size();
  }

  /// As few blocks of value columns as keep all workers busy.
  void choose_blocks() {
    const int64_t width = v_.width(), workers = num_workers(), most = (width + 63) / 64;
    const auto busy = [&](int64_t count) {
      const int64_t rounds = (heads() * count + workers - 1) / workers;
      return double(heads() * count) / double(rounds * workers);
    };
    int64_t parts = 1;
    for (int64_t count = 2; count <= most && busy(parts) < 0.75; ++count) {
      if (busy(count) > busy(parts)) parts = count;
    }
    block_ = kernels::round_up_to((width + parts - 1) / parts, 32);
    block_ = std::min(block_, width);
    blocks_ = (width + block_ - 1) / block_;
  }

  template <class Body>
  void each_item(const Body& body) const {
    for_each_item(num_items(), [&](int64_t index, int64_t) {
      const int64_t block = index % blocks_, column = block * block_;
      const Item item = {index, index / blocks_, block, column, std::min(block_, v_.width() - column)};
      ChunkSizes sizes = sizes_;
      sizes.value_width = item.columns;
      Bench bench(sizes.packing);
      Rule rule(bench, sizes);
      body(rule, bench, item);
    });
  }

  kernels::NumberRows rows(const HeadTokens& x, const Item& item, int64_t row) const {
    return {x.at(item.head, row, item.column), x.stride(), x.bf16()};
  }
  static kernels::OutputRows part(const HeadTokens& x, const Item&, int64_t head, int64_t row,
                                  int64_t column) {
    return {x.at(head, row, column), x.stride(), x.bf16()};
  }
  static kernels::OutputRows outputs(const HeadTokens& x, const Item& item, int64_t row, int64_t column) {
    return part(x, item, item.head, row, column);
  }
  int64_t partial_head(const Item& item) const { return item.block * heads() + item.head; }

  static HeadTokens kept_rows(const at::Tensor& kept) {
    return Rule::kKeepsRows && kept.defined() ? HeadTokens(kept) : HeadTokens();
  }
  Chunk chunk(const Item& item, int64_t index, const HeadTokens& kept) const {
    const int64_t token = index * sizes_.rows;
    const bool keeps = kept.tokens() > 0;
    return {q_.rows(item.head, token),
            k_.rows(item.head, token),
            rows(v_, item, token),
            gate_.rows(item.head, token),
            std::min(sizes_.rows, v_.tokens() - token),
            keeps ? outputs(kept, item, token, item.column) : kernels::OutputRows{}};
  }

  at::Tensor key_gradient(bool partial) const {
    if (!partial) return new_tokens(values_, sizes_.width);
    return at::empty({blocks_ * values_.size(0), values_.size(1), values_.size(2), sizes_.width}, at::kFloat);
  }
  at::Tensor sum_of_blocks(const at::Tensor& x) const {
    return blocks_ == 1 ? x : x.unflatten(0, {blocks_, values_.size(0)}).sum(0);
  }
  at::Tensor key_sum(const at::Tensor& x, bool partial) const {
    if (!partial) return x;
    at::Tensor sum = sum_of_blocks(x);
    if (shared_keys_) sum = sum.sum(1, true);
    return sum.to(values_.scalar_type());
  }

  const kernels::RecurrenceKernels& kernel_ = kernels::recurrence_kernels();
  at::Tensor values_;
  bool shared_keys_;
  HeadTokens q_, k_, v_, gate_;
  ChunkSizes sizes_;
  int64_t block_ = 0, blocks_ = 0;
};

template <class Rule>
struct RecurrenceFunction : torch::autograd::Function<RecurrenceFunction<Rule>> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                                const at::Tensor& gate, const at::Tensor& state,
                                                double scale) {
    const RecurrenceRun<Rule> run(q, k, v, gate, scale);
    const at::Tensor boundaries = run.new_boundaries(), kept = run.new_rows();
    const RecurrenceResult result = run.forward(state, boundaries, kept);
    context->save_for_backward({q, k, v, gate, boundaries, kept});
    context->saved_data["scale"] = scale;
    return {result.out, result.state};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list incoming) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &gate = saved[3];
    const RecurrenceRun<Rule> run(q, k, v, gate, context->saved_data["scale"].toDouble());
    const at::Tensor out = incoming[0].defined() ? incoming[0] : at::zeros_like(v);
    const at::Tensor state = incoming[1].defined()
                                 ? incoming[1]
                                 : at::zeros({v.size(0), v.size(1), k.size(3), v.size(3)}, gate.options());
    auto gradients = run.backward(saved[4], saved[5], out, state);
    gradients[3] = gradients[3].view(gate.sizes());
    gradients.emplace_back();
    return gradients;
  }
};

template <class Rule>
RecurrenceResult run_recurrence(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                const at::Tensor& gate, const at::Tensor& state, double scale) {
  if (!needs_gradient(q, k, v, gate, state)) {
    return RecurrenceRun<Rule>(q, k, v, gate, scale).forward(state, at::Tensor(), at::Tensor());
  }
  const auto results = RecurrenceFunction<Rule>::apply(q, k, v, gate, state, scale);
  return {results[0], results[1]};
}

}  // namespace lact::ops::fused
