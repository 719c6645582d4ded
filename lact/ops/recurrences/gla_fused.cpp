// GLA's rule on a chunk. With G the sums of g per channel, Γ the last of them, K̂ = K * e^{Γ-G} and s the
// scale:
//   A_ij = s · sum_a q_ia k_ja e^{G_ia - G_ja} (j <= i),   O = s (Q * e^G) S + A V,   S' = e^Γ * S + K̂ᵀ V
//   dA = s · tril(dO Vᵀ),   dV = Aᵀ dO + K̂ dS',   dS = e^Γ * dS' + s (Q * e^G)ᵀ dO
//   dQ_i = sum_j dA_ij k_j * e^{G_i - G_j} + s (dO Sᵀ)_i * e^{G_i}
//   dK_j = sum_i dA_ij q_i * e^{G_i - G_j} + (V dS'ᵀ)_j * e^{Γ - G_j}
//   dg_t = e^Γ * rowsum(S * dS') + sum_j K̂_j * (V dS'ᵀ)_j + sum over i >= t of q_i * dq_i - k_i * dk_i
// In the last sum dq_i and dk_i are taken without what a token gives to itself, dA_ii k_i and dA_ii q_i: it
// passes over no gate, and is nearly all there is where decays are strong.
//
// Where no channel falls by more than e^-60 within the chunk, A is one product of Q̃ = Q * e^{G-Γ} and K̂: both
// factors stay far inside float32's range. Stronger decays go by secondary chunks (gla_strong_decay.h), where
// every exponent is at most 0.
#include "lact/ops/recurrences/gla_strong_decay.h"
#include "lact/ops/recurrences/recurrence_run.h"

namespace lact::ops::fused {

namespace {

using kernels::FloatRows;
using kernels::Triangle;

constexpr float kMostFall = 60;

class GlaRule : ChunkSpace {
 public:
  static constexpr bool kKeepsRows = false;

  GlaRule(Bench& bench, const ChunkSizes& sizes)
      : ChunkSpace(bench, sizes),
        sums_(bench.matrix(sizes.rows, sizes.width)),
        q_space_(bench.matrix(sizes.rows, sizes.width)),
        k_space_(bench.matrix(sizes.rows, sizes.width)),
        scaled_{bench.matrix(sizes.rows, sizes.width),
                bench.matrix(sizes.rows, sizes.width),
                bench.matrix(sizes.rows, sizes.width),
                bench.matrix(sizes.rows, sizes.width),
                bench.matrix(sizes.rows, sizes.width),
                bench.numbers(sizes.width),
                bench.numbers(sizes.width)},
        tail_(bench.numbers(sizes.width)),
        strong_decay_(bench, sizes) {}

  void read(const Chunk& in, FloatRows state, kernels::OutputRows out) {
    const int64_t n = in.rows, width = sizes_.width, columns = sizes_.value_width;
    prepare(in);
    weigh(in);
    token_left_.pack(scaled_.q_before.read(), n, width);
    right_.pack(state.read(), width, columns).multiply(token_left_, values_, sizes_.scale);
    token_left_.pack(weights_.read(), n, n);
    right_.pack(in.v, n, columns).add_product(token_left_, values_, 1, Triangle::lower);
    kernel_.write_rows(values_, n, columns, out);
    add_tokens(in, state, state);
  }

  void write(const Chunk& in, FloatRows state, FloatRows next) {
    prepare(in);
    add_tokens(in, state, next);
  }

  void differentiate(const Chunk& in, const ChunkGradients& to, FloatRows state, FloatRows slope) {
    const int64_t n = in.rows, width = sizes_.width, columns = sizes_.value_width;
    prepare(in);
    weigh(in);
    token_left_.pack(to.out, n, columns);
    right_.pack_transposed(in.v, columns, n).multiply_causal(token_left_, slopes_);
    for (int64_t i = 0; i < n; ++i) diagonal_[i] = sizes_.scale * slopes_.numbers[i * (slopes_.stride + 1)];
    kernel_.keep_causal(slopes_, n, false, sizes_.scale);
    // dO is packed: what the state gives to dQ.
    right_.pack_transposed(state.read(), columns, width).multiply(token_left_, dq_, sizes_.scale);
    kernel_.scale_columns(dq_, n, width, scaled_.reference);

    token_left_.pack(scaled_.k.read(), n, width);
    right_.pack(slope.read(), width, columns).multiply(token_left_, values_);
    token_left_.pack_transposed(weights_.read(), n, n);
    right_.pack(to.out, n, columns).add_product(token_left_, values_, 1, Triangle::upper);
    kernel_.write_rows(values_, n, columns, to.v);

    for (int64_t row = 0; row < width; ++row) tail_[row] = 0;
    kernel_.add_row_products(state, slope, width, columns, 1, tail_);
    for (int64_t row = 0; row < width; ++row) tail_[row] *= scaled_.whole[row];
    token_left_.pack(in.v, n, columns);
    right_.pack_transposed(slope.read(), columns, width).multiply(token_left_, dk_);
    kernel_.add_column_products(scaled_.k, dk_, n, width, tail_);
    differentiate_weights(in);
    kernel_.channel_gradients({q_, k_, dq_, dk_, strong_ ? nullptr : &scaled_, tail_, diagonal_}, n, width,
                              to.q, to.k, to.gate);

    state_left_.pack_transposed(scaled_.q_before.read(), width, n);
    right_.pack(to.out, n, columns).multiply_and_keep(state_left_, slope, sizes_.scale, scaled_.whole, slope);
  }

 private:
  void prepare(const Chunk& in) {
    const int64_t n = in.rows, width = sizes_.width;
    q_ = widened(in.q, n, q_space_);
    k_ = widened(in.k, n, k_space_);
    strong_ = kernel_.channel_sums(in.gate, n, width, sums_) > kMostFall;
    kernel_.decay_channels(q_, k_, sums_, n, width, strong_, scaled_);
  }

  /// Tokens as float32: where they are, if they are.
  FloatRows widened(kernels::NumberRows tokens, int64_t rows, FloatRows space) const {
    if (!tokens.bf16) return {static_cast<float*>(const_cast<void*>(tokens.numbers)), tokens.stride};
    kernel_.read_rows(tokens, rows, sizes_.width, nullptr, space);
    return space;
  }

  void weigh(const Chunk& in) {
    const int64_t n = in.rows, width = sizes_.width;
    if (strong_) return strong_decay_.weigh({q_, k_, sums_}, n, weights_);
    token_left_.pack(scaled_.q.read(), n, width);
    right_.pack_transposed(scaled_.k.read(), width, n).multiply_causal(token_left_, weights_);
    kernel_.keep_causal(weights_, n, true, sizes_.scale);
  }

  /// Adds what dA gives to dQ and dK below its diagonal; only strong decays are then already in them.
  void differentiate_weights(const Chunk& in) {
    const int64_t n = in.rows, width = sizes_.width;
    if (strong_) {
      kernel_.scale_gradients(scaled_, n, width, dq_, dk_);
      return strong_decay_.differentiate({q_, k_, sums_}, n, slopes_, dq_, dk_);
    }
    token_left_.pack(slopes_.read(), n, n);
    right_.pack(scaled_.k.read(), n, width).add_product(token_left_, dq_, 1, Triangle::lower);
    token_left_.pack_transposed(slopes_.read(), n, n);
    right_.pack(scaled_.q.read(), n, width).add_product(token_left_, dk_, 1, Triangle::upper);
  }

  void add_tokens(const Chunk& in, FloatRows state, FloatRows next) {
    state_left_.pack_transposed(scaled_.k.read(), sizes_.width, in.rows);
    right_.pack(in.v, in.rows, sizes_.value_width)
        .multiply_and_keep(state_left_, next, 1, scaled_.whole, state);
  }

  FloatRows sums_, q_space_, k_space_;
  FloatRows q_, k_;  ///< only read
  kernels::ChannelDecays scaled_;
  float* tail_;
  StrongDecay strong_decay_;
  float diagonal_[kernels::kMostChunkRows];  ///< of dA
  bool strong_ = false;
};

}  // namespace

RecurrenceResult gla(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state, double scale) {
  return run_recurrence<GlaRule>(q, k, v, log_decay, state, scale);
}

}  // namespace lact::ops::fused
