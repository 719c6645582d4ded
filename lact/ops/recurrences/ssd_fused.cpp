// Mamba-2's rule on a chunk. With c the sums of g, L_ij = e^{c_i - c_j} (j <= i), X̂ = e^{c_C - c} * V and
// dÔ = e^c * dO:
//   A = (Q Kᵀ) * L,   O = e^c * (Q S) + A V,   S' = e^{c_C} S + Kᵀ X̂
//   dA = (dO Vᵀ) * L,   dV = Aᵀ dO + e^{c_C - c} * (K dS'),   dQ = dA K + dÔ Sᵀ,   dK = dAᵀ Q + X̂ dS'ᵀ
//   dS = e^{c_C} dS' + Qᵀ dÔ
//   dg_t = e^{c_C} <S, dS'> + Σ_{i<t} <k_i, (X̂ dS'ᵀ)_i> + Σ_{i>=t} <q_i, (dÔ Sᵀ)_i> + Σ_{i>=t>j} (dO Vᵀ)_ij
//   A_ij
// The last is what g_t lies between, and nothing else: the shorter form with <dq_i, q_i> - <dk_i, k_i> also
// adds and subtracts what a token gives to itself, which is nearly all there is where decays are strong.
#include <algorithm>
#include <cmath>

#include "lact/ops/recurrences/recurrence_run.h"

namespace lact::ops::fused {

namespace {

using kernels::FloatRows;
using kernels::kMostChunkRows;
using kernels::Triangle;

class SsdRule : ChunkSpace {
 public:
  static constexpr bool kKeepsRows = false;

  SsdRule(Bench& bench, const ChunkSizes& sizes)
      : ChunkSpace(bench, sizes),
        scaled_(bench.matrix(sizes.rows, sizes.value_width)),
        tokens_(bench.matrix(sizes.rows, sizes.width)),
        query_left_(bench, sizes.rows, sizes.width) {}

  void read(const Chunk& in, FloatRows state, kernels::OutputRows out) {
    sum_up(in);
    weigh(in);
    right_.pack(state.read(), sizes_.width, sizes_.value_width).multiply(query_left_, values_);
    kernel_.scale_rows(values_, in.rows, sizes_.value_width, since_start_, values_);
    token_left_.pack(weights_.read(), in.rows, in.rows);
    right_.pack(in.v, in.rows, sizes_.value_width).add_product(token_left_, values_, 1, Triangle::lower);
    kernel_.write_rows(values_, in.rows, sizes_.value_width, out);
    add_tokens(in, state, state);
  }

  void write(const Chunk& in, FloatRows state, FloatRows next) {
    sum_up(in);
    add_tokens(in, state, next);
  }

  void differentiate(const Chunk& in, const ChunkGradients& to, FloatRows state, FloatRows slope) {
    const int64_t n = in.rows, width = sizes_.width, columns = sizes_.value_width;
    sum_up(in);
    weigh(in);
    token_left_.pack(to.out, n, columns);
    right_.pack_transposed(in.v, columns, n).multiply_causal(token_left_, slopes_);
    begin_gate(in, state, slope);
    kernel_.decay_causal(slopes_, n, sums_);

    token_left_.pack(in.k, n, width);
    right_.pack(slope.read(), width, columns).multiply(token_left_, values_);
    kernel_.scale_rows(values_, n, columns, until_end_, values_);
    token_left_.pack_transposed(weights_.read(), n, n);
    right_.pack(to.out, n, columns).add_product(token_left_, values_, 1, Triangle::upper);
    kernel_.write_rows(values_, n, columns, to.v);

    kernel_.read_rows(in.v, n, columns, until_end_, scaled_);
    token_left_.pack(scaled_.read(), n, columns);
    right_.pack_transposed(slope.read(), columns, width).multiply(token_left_, dk_);
    add_to_gate(in.k, dk_, n, /*later=*/true);
    token_left_.pack_transposed(slopes_.read(), n, n);
    right_.pack(in.q, n, width).add_product(token_left_, dk_, 1, Triangle::upper);

    kernel_.read_rows(to.out, n, columns, since_start_, scaled_);
    token_left_.pack(scaled_.read(), n, columns);
    right_.pack_transposed(state.read(), columns, width).multiply(token_left_, dq_);
    add_to_gate(in.q, dq_, n, /*later=*/false);
    token_left_.pack(slopes_.read(), n, n);
    right_.pack(in.k, n, width).add_product(token_left_, dq_, 1, Triangle::lower);

    kernel_.write_rows(dq_, n, width, to.q);
    kernel_.write_rows(dk_, n, width, to.k);
    for (int64_t i = 0; i < n; ++i) to.gate.numbers[i * to.gate.stride] = float(gate_[i]);

    state_left_.pack_transposed(in.q, width, n);
    right_.pack(scaled_.read(), n, columns).multiply(state_left_, slope, 1, whole_, slope);
  }

 private:
  void sum_up(const Chunk& in) {
    double sum = 0;
    for (int64_t i = 0; i < in.rows; ++i) {
      const float own = gate_of(in, i);
      sum += own < kernels::kStrongestDecay ? kernels::kStrongestDecay : own;
      sums_[i] = float(sum);
      since_start_[i] = float(std::exp(sum));
    }
    for (int64_t i = 0; i < in.rows; ++i) until_end_[i] = std::exp(sums_[in.rows - 1] - sums_[i]);
    whole_ = since_start_[in.rows - 1];
  }

  /// The weights A; the queries stay packed.
  void weigh(const Chunk& in) {
    query_left_.pack(in.q, in.rows, sizes_.width);
    right_.pack_transposed(in.k, sizes_.width, in.rows).multiply_causal(query_left_, weights_);
    kernel_.decay_causal(weights_, in.rows, sums_);
  }

  void add_tokens(const Chunk& in, FloatRows state, FloatRows next) {
    kernel_.read_rows(in.v, in.rows, sizes_.value_width, until_end_, scaled_);
    state_left_.pack_transposed(in.k, sizes_.width, in.rows);
    right_.pack(scaled_.read(), in.rows, sizes_.value_width).multiply(state_left_, next, 1, whole_, state);
  }

  /// What passes over all tokens, and from a token to one behind it. dO Vᵀ has no decay yet.
  void begin_gate(const Chunk& in, FloatRows state, FloatRows slope) {
    double passes = 0;
    for (int64_t row = 0; row < sizes_.width; ++row) {
      float sum = 0;
      kernel_.add_row_products({state.numbers + row * state.stride, 0},
                               {slope.numbers + row * slope.stride, 0}, 1, sizes_.value_width, 1, &sum);
      passes += sum;
    }
    std::fill(gate_, gate_ + in.rows, double(whole_) * passes);
    for (int64_t i = 0; i < in.rows; ++i) {
      const float* slopes = slopes_.numbers + i * slopes_.stride;
      const float* weights = weights_.numbers + i * weights_.stride;
      double before = 0;
      for (int64_t t = 1; t <= i; ++t) gate_[t] += before += double(slopes[t - 1]) * weights[t - 1];
    }
  }

  /// What tokens give to the state behind the chunk (to all gates `later` than theirs), or take from that
  /// before it (all gates up to theirs).
  void add_to_gate(kernels::NumberRows x, FloatRows dx, int64_t rows, bool later) {
    float by_token[kMostChunkRows] = {};
    kernel_.read_rows(x, rows, sizes_.width, nullptr, tokens_);
    kernel_.add_row_products(tokens_, dx, rows, sizes_.width, 1, by_token);
    double sum = 0;
    for (int64_t step = 0; step < rows; ++step) {
      const int64_t i = later ? step : rows - 1 - step;
      if (later) gate_[i] += sum;
      sum += by_token[i];
      if (!later) gate_[i] += sum;
    }
  }

  FloatRows scaled_, tokens_;
  LeftOperand query_left_;
  float sums_[kMostChunkRows], since_start_[kMostChunkRows], until_end_[kMostChunkRows], whole_ = 1;
  double gate_[kMostChunkRows];  ///< gradients
};

}  // namespace

RecurrenceResult ssd(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state) {
  return run_recurrence<SsdRule>(q, k, v, log_decay, state, 1);
}

}  // namespace lact::ops::fused
