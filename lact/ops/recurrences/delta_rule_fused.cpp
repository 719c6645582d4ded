// The delta rule on a chunk. With P = K Kᵀ, M = tril(β P, -1) and s the scale:
//   E = V - K S,   (I + M) V̂ = β E,   A = s · tril(Q Kᵀ),   O = s Q S + A V̂,   S' = S + Kᵀ V̂
//   dV̂ = Aᵀ dO + K dS',   (I + M)ᵀ dR = dV̂,   dE = β dR = dV,   dA = s · tril(dO V̂ᵀ),   dM = -tril(dR V̂ᵀ, -1)
//   dβ = rowsum(dR * E) + rowsum(dM * P),   dP = β dM,   dS = dS' + s Qᵀ dO - Kᵀ dE
//   dQ = s dO Sᵀ + dA K,   dK = V̂ dS'ᵀ + dAᵀ Q - dE Sᵀ + (dP + dPᵀ) K
// The triangle's inverse and its products are float32 whatever the tokens are.
#include "lact/ops/recurrences/recurrence_run.h"

namespace lact::ops::fused {

namespace {

using kernels::FloatRows;
using kernels::kMostChunkRows;
using kernels::Packing;
using kernels::Triangle;

class DeltaRule : ChunkSpace {
 public:
  static constexpr bool kKeepsRows = true;  // E

  DeltaRule(Bench& bench, const ChunkSizes& sizes)
      : ChunkSpace(bench, sizes),
        products_(bench.matrix(sizes.rows, sizes.rows)),
        inverse_(bench.matrix(sizes.rows, sizes.rows)),
        missing_(bench.matrix(sizes.rows, sizes.value_width)),
        shares_(bench.matrix(sizes.rows, sizes.value_width)),
        written_(bench.matrix(sizes.rows, sizes.value_width)),
        key_left_(bench, sizes.rows, sizes.width),
        triangle_left_(bench, sizes.rows, sizes.rows, Packing::singles),
        key_right_(bench, sizes.width, sizes.rows),
        triangle_right_(bench, sizes.rows, sizes.value_width, Packing::singles) {}

  void read(const Chunk& in, FloatRows state, kernels::OutputRows out) {
    const int64_t n = in.rows, width = sizes_.width, columns = sizes_.value_width;
    find_missing(in, state);
    if (in.kept.numbers != nullptr) kernel_.write_rows(missing_, n, columns, in.kept);
    solve(in);
    weigh(in);  // the queries stay packed, and so does the state
    right_.multiply(token_left_, values_, sizes_.scale);
    token_left_.pack(weights_.read(), n, n);
    right_.pack(written_.read(), n, columns).add_product(token_left_, values_, 1, Triangle::lower);
    kernel_.write_rows(values_, n, columns, out);
    state_left_.pack_transposed(in.k, width, n);
    right_.add_product(state_left_, state);
  }

  void write(const Chunk& in, FloatRows state, FloatRows next) {
    find_kept(in);
    solve(in);
    state_left_.pack_transposed(in.k, sizes_.width, in.rows);
    right_.pack(written_.read(), in.rows, sizes_.value_width).multiply(state_left_, next, 1, 1, state);
  }

  void differentiate(const Chunk& in, const ChunkGradients& to, FloatRows state, FloatRows slope) {
    const int64_t n = in.rows, width = sizes_.width, columns = sizes_.value_width;
    find_kept(in);
    solve(in);
    weigh(in);
    // dV̂, and dR by the transposed triangle.
    right_.pack(slope.read(), width, columns).multiply(key_left_, values_);
    token_left_.pack_transposed(weights_.read(), n, n);
    right_.pack(to.out, n, columns).add_product(token_left_, values_, 1, Triangle::upper);
    triangle_left_.pack_transposed(inverse_.read(), n, n);
    triangle_right_.pack(values_.read(), n, columns).multiply(triangle_left_, shares_, 1, Triangle::upper);
    kernel_.scale_rows(shares_, n, columns, beta_, values_);  // dE
    kernel_.write_rows(values_, n, columns, to.v);

    // V̂ dS'ᵀ, and the slope behind the chunk is not needed any more.
    token_left_.pack(written_.read(), n, columns);
    right_.pack_transposed(slope.read(), columns, width).multiply(token_left_, dk_);
    state_left_.pack_transposed(in.q, width, n);
    right_.pack(to.out, n, columns).add_product(state_left_, slope, sizes_.scale);
    state_left_.pack_transposed(in.k, width, n);
    right_.pack(values_.read(), n, columns).add_product(state_left_, slope, -1);

    right_.pack_transposed(state.read(), columns, width);
    token_left_.pack(values_.read(), n, columns);
    right_.add_product(token_left_, dk_, -1);
    token_left_.pack(to.out, n, columns);
    right_.multiply(token_left_, dq_, sizes_.scale);

    right_.pack_transposed(written_.read(), columns, n).multiply_causal(token_left_, weights_);
    kernel_.keep_causal(weights_, n, true, sizes_.scale);  // dA
    token_left_.pack(shares_.read(), n, columns);
    right_.multiply_causal(token_left_, slopes_);
    kernel_.keep_causal(slopes_, n, false, -1);  // dM
    differentiate_share(in, to);
    add_key_products(in);
    kernel_.write_rows(dq_, n, width, to.q);
    kernel_.write_rows(dk_, n, width, to.k);
  }

 private:
  /// E; the keys stay packed, and the state as right operand.
  void find_missing(const Chunk& in, FloatRows state) {
    key_left_.pack(in.k, in.rows, sizes_.width);
    kernel_.read_rows(in.v, in.rows, sizes_.value_width, nullptr, missing_);
    right_.pack(state.read(), sizes_.width, sizes_.value_width).add_product(key_left_, missing_, -1);
  }

  /// The same from what was kept.
  void find_kept(const Chunk& in) {
    key_left_.pack(in.k, in.rows, sizes_.width);
    kernel_.read_rows({in.kept.numbers, in.kept.stride, in.kept.bf16}, in.rows, sizes_.value_width, nullptr,
                      missing_);
  }

  /// β E and V̂ from E; the keys are packed, and then also as right operand.
  void solve(const Chunk& in) {
    const int64_t n = in.rows, width = sizes_.width, columns = sizes_.value_width;
    for (int64_t i = 0; i < n; ++i) beta_[i] = gate_of(in, i);
    key_right_.pack_transposed(in.k, width, n).multiply_causal(key_left_, products_);
    kernel_.keep_causal(products_, n, false, 1);
    kernel_.inverse(products_, beta_, n, inverse_);
    kernel_.scale_rows(missing_, n, columns, beta_, shares_);
    triangle_left_.pack(inverse_.read(), n, n);
    triangle_right_.pack(shares_.read(), n, columns).multiply(triangle_left_, written_, 1, Triangle::lower);
  }

  /// A; the queries stay packed.
  void weigh(const Chunk& in) {
    token_left_.pack(in.q, in.rows, sizes_.width);
    key_right_.multiply_causal(token_left_, weights_);
    kernel_.keep_causal(weights_, in.rows, true, sizes_.scale);
  }

  /// dβ from dR (in shares_), E, dM (in slopes_) and P; dM becomes dP.
  void differentiate_share(const Chunk& in, const ChunkGradients& to) {
    float by_token[kMostChunkRows] = {};
    kernel_.add_row_products(shares_, missing_, in.rows, sizes_.value_width, 1, by_token);
    kernel_.add_row_products(slopes_, products_, in.rows, in.rows, 1, by_token);
    for (int64_t i = 0; i < in.rows; ++i) to.gate.numbers[i * to.gate.stride] = by_token[i];
    kernel_.scale_rows(slopes_, in.rows, in.rows, beta_, slopes_);
  }

  /// dQ += dA K, dK += dAᵀ Q + (dP + dPᵀ) K; dA is in weights_, dP in slopes_.
  void add_key_products(const Chunk& in) {
    const int64_t n = in.rows, width = sizes_.width;
    right_.pack(in.k, n, width);
    token_left_.pack(weights_.read(), n, n);
    right_.add_product(token_left_, dq_, 1, Triangle::lower);
    token_left_.pack(slopes_.read(), n, n);
    right_.add_product(token_left_, dk_, 1, Triangle::lower);
    token_left_.pack_transposed(slopes_.read(), n, n);
    right_.add_product(token_left_, dk_, 1, Triangle::upper);
    token_left_.pack_transposed(weights_.read(), n, n);
    right_.pack(in.q, n, width).add_product(token_left_, dk_, 1, Triangle::upper);
  }

  FloatRows products_, inverse_;
  FloatRows missing_, shares_, written_;
  LeftOperand key_left_, triangle_left_;
  RightOperand key_right_, triangle_right_;
  float beta_[kMostChunkRows];
};

}  // namespace

RecurrenceResult delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& beta, const at::Tensor& state, double scale) {
  return run_recurrence<DeltaRule>(q, k, v, beta, state, scale);
}

}  // namespace lact::ops::fused
