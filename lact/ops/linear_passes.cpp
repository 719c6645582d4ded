// The four passes of f(x) = W x.
#include "lact/ops/token_blocks.h"

namespace lact::ops::fused {

namespace {

using kernels::ProductTerm;

class LinearPasses final : public FastWeightPasses {
 public:
  LinearPasses(const NetworkSizes& sizes, bool bf16)
      : sizes_(sizes),
        packing_(bf16 && kernels::multiplies_pairs() ? kernels::Packing::pairs : kernels::Packing::singles) {}

  void load(const PerMatrix& weights) override { weight_.pack(weights[0], packing_); }

  at::Tensor apply(const HeadTokens& x, Range tokens, const HeadTokens& out, bool /*keep*/) override {
    for_each_block(sizes_.heads, kSlices, tokens, [&](Range heads, Range block) {
      first_.pack(x, heads, block, packing_, {true, false});
      for_each_slice(heads, block, [&](int64_t head, int64_t first, int64_t count) {
        multiply(first_, head - heads.begin, first, count, weight_.turned(head), out, head, block.begin);
      });
    });
    return {};
  }

  // Σ_t rate_t v_t k_tᵀ
  at::Tensor descend(const WrittenChunk& chunk, const PerMatrix& sums, bool /*keep*/) override {
    const PaddedSums sum(sums[0]);
    for_each_block(sizes_.heads, panels_of(sizes_.out), chunk.tokens, [&](Range heads, Range block) {
      first_.pack(chunk.v, heads, block, packing_, {false, true, &chunk.rates[0]});
      second_.pack(chunk.k, heads, block, packing_, {false, true});
      add_outer(heads, block, sum);
    });
    return {};
  }

  void apply_backward(const HeadTokens& x, Range tokens, const HeadTokens& out_gradient,
                      const at::Tensor& /*kept*/, const HeadTokens& x_gradient,
                      const PerMatrix& weight_gradients) override {
    const PaddedSums sum(weight_gradients[0]);
    for_each_block(sizes_.heads, panels_of(sizes_.out), tokens, [&](Range heads, Range block) {
      first_.pack(out_gradient, heads, block, packing_, {true, true});
      second_.pack(x, heads, block, packing_, {false, true});
      add_outer(heads, block, sum);
      for_each_slice(heads, block, [&](int64_t head, int64_t first, int64_t count) {
        multiply(first_, head - heads.begin, first, count, weight_.plain(head), x_gradient, head,
                 block.begin);
      });
    });
  }

  // With the sum's gradient A:  dk = rate Aᵀ v,  dv = rate A k,  drate = v · (A k).
  void descend_backward(const WrittenChunk& chunk, const PerMatrix& sum_gradients, const at::Tensor& /*kept*/,
                        const WrittenChunk& gradients, const PerMatrix& /*weight_gradients*/) override {
    factor_.pack(sum_gradients[0], packing_);
    const int64_t out = sizes_.out, in = sizes_.in;
    for_each_block(sizes_.heads, kSlices, chunk.tokens, [&](Range heads, Range block) {
      first_.pack(chunk.v, heads, block, packing_, {true, false});
      second_.pack(chunk.k, heads, block, packing_, {true, false});
      float* scratches = scratch_.numbers(num_workers() * kSlice * (in + 2 * out));
      const int64_t slices = slices_of(block.size());
      for_each_item(heads.size() * slices, [&](int64_t item, int64_t worker) {
        const int64_t own = item / slices, head = heads.begin + own, first = item % slices * kSlice,
                      count = std::min(kSlice, block.size() - first), token = block.begin + first;
        float* keys = scratches + worker * kSlice * (in + 2 * out);
        float *values = keys + kSlice * in, *pulls = values + kSlice * out;
        product(first_.forms(own), first, factor_.plain(head), count, in, keys);
        product(second_.forms(own), first, factor_.turned(head), count, out, values);
        widen(chunk.v.rows(head, token), count, out, pulls);
        const float* rates = chunk.rates[0].data_ptr<float>() + head * chunk.rates[0].size(1) + token;
        float* rate_gradients = gradients.rates[0].data_ptr<float>() + head * chunk.rates[0].size(1) + token;
        for (int64_t t = 0; t < count; ++t) {
          float along = 0;
          for (int64_t i = 0; i < out; ++i) along += values[t * out + i] * pulls[t * out + i];
          rate_gradients[t] = along;
          write_row(keys + t * in, in, rates[t], gradients.k, head, token + t);
          write_row(values + t * out, out, rates[t], gradients.v, head, token + t);
        }
      });
    });
  }

 private:
  /// Pieces of work per head in a phase that goes over tokens.
  static constexpr int64_t kSlices = kBlock / kSlice;

  void product(const kernels::TokenForms& tokens, int64_t first, const uint32_t* panels, int64_t count,
               int64_t columns, float* to) const {
    const ProductTerm term = {tokens.tiles + first * tokens.words, 0, panels, tokens.words};
    kernel_.token_product(packing_, &term, 1, count, columns, {to, columns, false});
  }

  void multiply(const PackedTokens& tokens, int64_t own, int64_t first, int64_t count, const uint32_t* panels,
                const HeadTokens& out, int64_t head, int64_t block) const {
    const auto forms = tokens.forms(own);
    const ProductTerm term = {forms.tiles + first * forms.words, 0, panels, forms.words};
    kernel_.token_product(packing_, &term, 1, count, out.width(),
                          {out.at(head, block + first), out.stride(), out.bf16()});
  }

  /// sum += Aᵀ B over the packed block.
  void add_outer(Range heads, Range block, const PaddedSums& sum) const {
    const int64_t panels = panels_of(sizes_.out), words = kernels::words_for(packing_, block.size());
    for_each_item(heads.size() * panels, [&](int64_t item, int64_t) {
      const int64_t own = item / panels, panel = item % panels;
      const auto a = first_.forms(own), b = second_.forms(own);
      kernel_.outer_sum(packing_, a.panels + panel * a.panel_stride, b.panels, b.panel_stride, words,
                        sizes_.in, sum.row(heads.begin + own, panel * kPanel), sum.columns());
    });
  }

  static void widen(kernels::NumberRows from, int64_t rows, int64_t columns, float* to) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < columns; ++i) {
        to[r * columns + i] = from.bf16
                                  ? float(static_cast<const at::BFloat16*>(from.numbers)[r * from.stride + i])
                                  : static_cast<const float*>(from.numbers)[r * from.stride + i];
      }
    }
  }
  static void write_row(const float* from, int64_t columns, float scale, const HeadTokens& to, int64_t head,
                        int64_t token) {
    void* row = to.at(head, token);
    for (int64_t i = 0; i < columns; ++i) {
      if (to.bf16()) {
        static_cast<at::BFloat16*>(row)[i] = from[i] * scale;
      } else {
        static_cast<float*>(row)[i] = from[i] * scale;
      }
    }
  }

  NetworkSizes sizes_;
  kernels::Packing packing_;
  const kernels::FastWeightKernels& kernel_ = kernels::fast_weight_kernels();
  PackedMatrix weight_, factor_;
  PackedTokens first_, second_;
  Buffer scratch_;
};

}  // namespace

std::unique_ptr<FastWeightPasses> linear_passes(const NetworkSizes& sizes, bool bf16) {
  return std::make_unique<LinearPasses>(sizes, bf16);
}

}  // namespace lact::ops::fused
