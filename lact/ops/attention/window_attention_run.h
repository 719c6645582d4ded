// Window attention on a processor: the tensors of a call as the kernels see them, and the two passes.
#pragma once

#include <ATen/ATen.h>

#include <cmath>

#include "lact/kernels/attention.h"
#include "lact/kernels/attention_query.h"
#include "lact/ops/attention/window_attention_pieces.h"
#include "lact/ops/dispatch/work_items.h"

namespace lact::ops::fused {

inline char* address(const at::Tensor& x, int64_t batch, int64_t head) {
  return static_cast<char*>(x.data_ptr()) +
         (batch * x.stride(0) + head * x.stride(2)) * int64_t(x.element_size());
}
inline kernels::HeadRows rows_of(const at::Tensor& x, int64_t batch, int64_t head) {
  return {address(x, batch, head), x.stride(1)};
}
inline kernels::HeadOutput output_of(const at::Tensor& x, int64_t batch, int64_t head) {
  if (!x.defined()) return {nullptr, 0};
  return {address(x, batch, head), x.stride(1)};
}

/// Queries of so small a block are streamed one by one: packing the keys would cost more.
constexpr int64_t kFewQueries = 4;

struct AttentionInputs {
  at::Tensor q, k, v;             // [B, T, H, D]
  at::Tensor k_scales, v_scales;  // [B, T, H] where k and v are int8, which only blocks of a few queries read
  int64_t batch() const { return q.size(0); }
  int64_t num_heads() const { return q.size(2); }
  int64_t num_queries() const { return q.size(1); }
  int64_t num_keys() const { return k.size(1); }
  kernels::AttentionHead head(int64_t batch, int64_t head) const {
    return {rows_of(q, batch, head),
            rows_of(k, batch, head),
            rows_of(v, batch, head),
            q.size(3),
            v.size(3),
            scale()};
  }
  float scale() const { return float(1 / std::sqrt(double(q.size(3)))); }
};

/// Whether bfloat16 is best multiplied as pairs: in tile registers where they fit, otherwise in vectors.
inline bool as_pairs(const AttentionInputs& in) {
  if (kernels::isa() != kernels::Isa::amx) return kernels::multiplies_pairs_in_vectors();
  return in.q.size(3) % kernels::kTileWidth == 0 && in.v.size(3) % kernels::kTileWidth == 0;
}

/// The kernels for the type of the inputs.
template <class Table>
const auto& kernels_for(const Table& table, const AttentionInputs& in) {
  if (in.q.scalar_type() == at::kFloat) return table.f32;
  return as_pairs(in) ? table.bf16_pairs : table.bf16;
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

/// The numbers of one head's queries in [B, H, T]; null if there are none.
inline float* per_query(const at::Tensor& numbers, int64_t batch, int64_t head) {
  if (!numbers.defined()) return nullptr;
  return numbers.data_ptr<float>() + (batch * numbers.size(1) + head) * numbers.size(2);
}

struct InputGradients {
  at::Tensor q, k, v;  // undefined: not wanted
};

/// [B, T, H, D of v]. log_sums is undefined or [B, H, T], what the backward pass needs.
at::Tensor run_attention(const AttentionInputs& in, const AttentionPieces& window,
                         const at::Tensor& log_sums);

/// The blocks of a few queries alone. k and v may be of another type than q.
void run_queries(const AttentionInputs& in, const AttentionPieces& window, const at::Tensor& out,
                 const at::Tensor& log_sums);

/// Fills the gradients that are defined; that of q has to be zero before.
void run_attention_backward(const AttentionInputs& in, const AttentionPieces& window, const at::Tensor& out,
                            const at::Tensor& out_gradient, const at::Tensor& log_sums,
                            const InputGradients& gradients);

}  // namespace lact::ops::fused
