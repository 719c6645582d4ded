// GLA's rule on a chunk. With G the sums of g per channel, Γ the last of them, K̂ = K * e^{Γ-G} and s the
// scale:
//   A_ij = s · sum_a q_ia k_ja e^{G_ia - G_ja} (j <= i),   O = s (Q * e^G) S + A V,   S' = e^Γ * S + K̂ᵀ V
//   dA = s · tril(dO Vᵀ),   dV = Aᵀ dO + K̂ dS',   dS = e^Γ * dS' + s (Q * e^G)ᵀ dO
//   dQ_i = sum_j dA_ij k_j * e^{G_i - G_j} + s (dO Sᵀ)_i * e^{G_i}
//   dK_j = sum_i dA_ij q_i * e^{G_i - G_j} + (V dS'ᵀ)_j * e^{Γ - G_j}
//   dg_t = rowsum(S' * dS') + sum over i >= t of q_i * dq_i - k_i * dk_i
//
// Where no channel falls by more than e^-60 within the chunk, A is one product of Q̃ = Q * e^{G-Γ} and K̂: both
// factors stay far inside float32's range, and Q̃ reads e^Γ * S, which the next state needs anyhow. Stronger
// decays go by secondary chunks (gla_strong_decay.h), where every exponent is at most 0.
#include "lact/ops/recurrences/gla_strong_decay.h"
#include "lact/ops/recurrences/recurrence_run.h"

namespace lact::ops::fused {

namespace {

using kernels::FloatRows;
using kernels::kChunkRows;
using kernels::Triangle;

constexpr float kMostFall = 60;

class GlaRule {
 public:
  GlaRule(Bench& bench, const ChunkSizes& sizes)
      : sizes_(sizes),
        weights_(bench.matrix(kChunkRows, kChunkRows)),
        slopes_(bench.matrix(kChunkRows, kChunkRows)),
        values_(bench.matrix(kChunkRows, sizes.value_width)),
        sums_(bench.matrix(kChunkRows, sizes.width)),
        q_(bench.matrix(kChunkRows, sizes.width)),
        k_(bench.matrix(kChunkRows, sizes.width)),
        dq_(bench.matrix(kChunkRows, sizes.width)),
        dk_(bench.matrix(kChunkRows, sizes.width)),
        scaled_{bench.matrix(kChunkRows, sizes.width), bench.matrix(kChunkRows, sizes.width),
                bench.matrix(kChunkRows, sizes.width), bench.matrix(kChunkRows, sizes.width)},
        read_state_(bench.matrix(sizes.width, sizes.value_width)),
        whole_(bench.numbers(sizes.width)),
        tail_(bench.numbers(sizes.width)),
        strong_decay_(bench, sizes),
        token_left_(bench, kChunkRows, std::max({sizes.width, sizes.value_width, kChunkRows})),
        state_left_(bench, sizes.width, kChunkRows),
        right_(bench, std::max({sizes.width, sizes.value_width, kChunkRows}),
               std::max({sizes.width, sizes.value_width, kChunkRows})) {}

  void read(const Chunk& in, FloatRows state, kernels::OutputRows out) {
    const int64_t n = in.rows, width = sizes_.width, columns = sizes_.value_width;
    prepare(in);
    weigh(in);
    if (!strong_) kernel_.scale_rows(state, width, columns, whole_, state);
    token_left_.pack(scaled_.q.read(), n, width);
    right_.pack(state.read(), width, columns).multiply(token_left_, values_, sizes_.scale);
    token_left_.pack(weights_.read(), n, n);
    right_.pack(in.v, n, columns).add_product(token_left_, values_, 1, Triangle::lower);
    kernel_.write_rows(values_, n, columns, out);
    if (strong_) kernel_.scale_rows(state, width, columns, whole_, state);
    add_tokens(in, state);
  }

  void write(const Chunk& in, FloatRows state, FloatRows next) {
    prepare(in);
    kernel_.scale_rows(state, sizes_.width, sizes_.value_width, whole_, next);
    add_tokens(in, next);
  }

  void differentiate(const Chunk& in, const ChunkGradients& to, FloatRows state, FloatRows next,
                     FloatRows slope) {
    const int64_t n = in.rows, width = sizes_.width, columns = sizes_.value_width;
    prepare(in);
    weigh(in);
    token_left_.pack(to.out, n, columns);
    right_.pack_transposed(in.v, columns, n).multiply_causal(token_left_, slopes_);
    kernel_.keep_causal(slopes_, n, true, sizes_.scale);
    // dO is packed: what the state gives to dQ.
    if (!strong_) kernel_.scale_rows(state, width, columns, whole_, read_state_);
    const FloatRows seen = strong_ ? state : read_state_;
    right_.pack_transposed(seen.read(), columns, width).multiply(token_left_, dq_, sizes_.scale);

    token_left_.pack(scaled_.k.read(), n, width);
    right_.pack(slope.read(), width, columns).multiply(token_left_, values_);
    token_left_.pack_transposed(weights_.read(), n, n);
    right_.pack(to.out, n, columns).add_product(token_left_, values_, 1, Triangle::upper);
    kernel_.write_rows(values_, n, columns, to.v);

    for (int64_t row = 0; row < width; ++row) tail_[row] = 0;
    kernel_.add_row_products(next, slope, width, columns, 1, tail_);
    token_left_.pack(in.v, n, columns);
    right_.pack_transposed(slope.read(), columns, width).multiply(token_left_, dk_);
    differentiate_weights(in);
    kernel_.write_rows(dq_, n, width, to.q);
    kernel_.write_rows(dk_, n, width, to.k);
    kernel_.channel_gradients(q_, k_, dq_, dk_, tail_, n, width, to.gate);

    if (strong_) kernel_.scale_rows(slope, width, columns, whole_, slope);
    state_left_.pack_transposed(scaled_.q.read(), width, n);
    right_.pack(to.out, n, columns).add_product(state_left_, slope, sizes_.scale);
    if (!strong_) kernel_.scale_rows(slope, width, columns, whole_, slope);
  }

 private:
  void prepare(const Chunk& in) {
    const int64_t n = in.rows, width = sizes_.width;
    kernel_.read_rows(in.q, n, width, nullptr, q_);
    kernel_.read_rows(in.k, n, width, nullptr, k_);
    strong_ = kernel_.channel_sums(in.gate, n, width, sums_) > kMostFall;
    kernel_.decay_channels(q_, k_, sums_, n, width, strong_, scaled_, whole_);
  }

  void weigh(const Chunk& in) {
    const int64_t n = in.rows, width = sizes_.width;
    if (strong_) return strong_decay_.weigh({q_, k_, sums_}, n, weights_);
    token_left_.pack(scaled_.q.read(), n, width);
    right_.pack_transposed(scaled_.k.read(), width, n).multiply_causal(token_left_, weights_);
    kernel_.keep_causal(weights_, n, true, sizes_.scale);
  }

  /// From dA, and what the states gave to dQ and dK before they were scaled.
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
    kernel_.scale_gradients(scaled_, n, width, dq_, dk_);
  }

  void add_tokens(const Chunk& in, FloatRows state) {
    state_left_.pack_transposed(scaled_.k.read(), sizes_.width, in.rows);
    right_.pack(in.v, in.rows, sizes_.value_width).add_product(state_left_, state);
  }

  const kernels::RecurrenceKernels& kernel_ = kernels::recurrence_kernels();
  ChunkSizes sizes_;
  FloatRows weights_, slopes_, values_, sums_, q_, k_, dq_, dk_;
  kernels::ChannelDecays scaled_;
  FloatRows read_state_;
  float *whole_, *tail_;
  StrongDecay strong_decay_;
  LeftOperand token_left_, state_left_;
  RightOperand right_;
  bool strong_ = false;
};

}  // namespace

RecurrenceResult gla(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state, double scale) {
  return run_recurrence<GlaRule>(q, k, v, log_decay, state, scale);
}

}  // namespace lact::ops::fused
