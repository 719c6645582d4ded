// What the linear recurrences do to a chunk of tokens besides matrix products. A chunk has at most 128
// tokens; matrices are rows of float32 in a worker's memory, `stride` numbers apart, unless said otherwise.
#pragma once

#include <cstdint>

#include "lact/kernels/isa.h"
#include "lact/kernels/products.h"

namespace lact::kernels {

constexpr int64_t kMostChunkRows = 128;
/// Decays below e^-100 are as good as 0, and sums of stronger ones would leave later differences no digits.
constexpr float kStrongestDecay = -100;

struct FloatRows {
  float* numbers;
  int64_t stride;
  NumberRows read() const { return {numbers, stride}; }
};

/// Rows of a tensor that are written.
struct OutputRows {
  void* numbers;
  int64_t stride;
  bool bf16 = false;
};

/// GLA's chunk: q and k, and what scales them: q_scales = e^{G - G at the reference}, k_scales = e^{Γ - G}.
struct ChannelDecays {
  FloatRows q_scales, k_scales;
  FloatRows q, k;            ///< already scaled
  FloatRows q_before;        ///< q e^G, with which the state before the chunk is read
  float *whole, *reference;  ///< e^Γ, and e^{G at the reference}, of every channel
};

/// GLA's gradients before they are finished: dg = tail + the sums of q dq - k dk from the last row up, then
/// dq += diagonal · k and dk += diagonal · q.
struct ChannelGradients {
  FloatRows q, k;
  FloatRows dq, dk;
  const ChannelDecays* decays;  ///< whose scales dq and dk still lack, or null
  const float* tail;            ///< of every channel
  const float* diagonal;        ///< of every row
};

/// One token of one head: the state before it becomes the state behind it, row by row of the state.
struct RecurrenceStep {
  const float* state;  ///< [width, value_width] without gaps
  float* next;         ///< the same; may be `state`
  const float* decay;  ///< [width], or null
  const float *q, *k;  ///< [width]
  const float* v;      ///< [value_width]: what is written
  float* out;          ///< [value_width]
  int64_t width, value_width;
  int64_t begin, end;  ///< the columns to be done
};

struct RecurrenceKernels {
  /// to = from, and each row times its factor unless `factors` is null.
  void (*read_rows)(NumberRows from, int64_t rows, int64_t columns, const float* factors, FloatRows to);
  void (*write_rows)(FloatRows from, int64_t rows, int64_t columns, OutputRows to);
  /// to = factors[row] · from
  void (*scale_rows)(FloatRows from, int64_t rows, int64_t columns, const float* factors, FloatRows to);
  /// x = factors[column] · x
  void (*scale_columns)(FloatRows x, int64_t rows, int64_t columns, const float* factors);
  /// sums[column] += the sum of a * b down the rows
  void (*add_column_products)(FloatRows a, FloatRows b, int64_t rows, int64_t columns, float* sums);
  /// sums[row] += sign · <a, b>
  void (*add_row_products)(FloatRows a, FloatRows b, int64_t rows, int64_t columns, float sign, float* sums);

  /// Keeps j <= i, or j < i without the diagonal, times `scale`; zeros elsewhere. [rows, rows]
  void (*keep_causal)(FloatRows a, int64_t rows, bool diagonal, float scale);
  /// a_ij *= e^{sums_i - sums_j} for j <= i; zeros elsewhere.
  void (*decay_causal)(FloatRows a, int64_t rows, const float* sums);
  /// to = (I + tril(diag(beta) products, -1))^-1, both [rows, rows]
  void (*inverse)(FloatRows products, const float* beta, int64_t rows, FloatRows to);

  /// G, the sums of g down the rows, of every channel; returns by how much one falls at most from the first
  /// row to the last.
  float (*channel_sums)(NumberRows g, int64_t rows, int64_t channels, FloatRows sums);
  /// All of `to`. The reference is the last row, or with `from_start` the state before the first.
  void (*decay_channels)(FloatRows q, FloatRows k, FloatRows sums, int64_t rows, int64_t channels,
                         bool from_start, const ChannelDecays& to);
  /// dq, dk *= their scales.
  void (*scale_gradients)(const ChannelDecays& decays, int64_t rows, int64_t channels, FloatRows dq,
                          FloatRows dk);
  /// The gradients of q, k and g, from those of q and k without what a token gives to itself.
  void (*channel_gradients)(const ChannelGradients& in, int64_t rows, int64_t channels, OutputRows dq,
                            OutputRows dk, FloatRows dg);

  /// to = x * e^{sign (G - reference)}, and to += the same; no exponent is above 0.
  void (*decay_rows)(FloatRows x, FloatRows sums, const float* reference, float sign, int64_t rows,
                     int64_t channels, FloatRows to);
  void (*add_decayed_rows)(FloatRows x, FloatRows sums, const float* reference, float sign, int64_t rows,
                           int64_t channels, FloatRows to);

  /// Without products of large and small numbers, pair by pair: a_ij = scale · sum_c q_ic k_jc
  /// e^{G_ic - G_jc} for j <= i; zeros elsewhere.
  void (*pair_products)(FloatRows q, FloatRows k, FloatRows sums, int64_t rows, int64_t channels, float scale,
                        FloatRows a);
  /// dq_i += sum_j da_ij k_j e^{G_i - G_j}, dk_j += sum_i da_ij q_i e^{G_i - G_j}, over j <= i.
  void (*add_pair_gradients)(FloatRows q, FloatRows k, FloatRows sums, int64_t rows, int64_t channels,
                             FloatRows da, FloatRows dq, FloatRows dk);

  /// out = Sᵀ k
  void (*recall)(const RecurrenceStep& step);
  /// next = decay * S + k vᵀ, out = nextᵀ q
  void (*step)(const RecurrenceStep& step);
};
LACT_KERNEL_TABLE(RecurrenceKernels, recurrence)

}  // namespace lact::kernels
