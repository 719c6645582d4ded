// The four passes of f(x) = W x.
#include "lact/ops/token_blocks.h"

namespace lact::ops::fused {

namespace {

using kernels::ProductTerm;

class LinearPasses final : public FastWeightPasses {
 public:
  LinearPasses(const NetworkSizes& sizes, bool bf16)
      : sizes_(sizes),
        packing_(bf16 && kernels::multiplies_pairs() ? kernels::Packing::pairs : kernels::Packing::singles),
        block_(block_tokens(std::max(sizes.in, sizes.out), sizes.in * sizes.out)) {}

  void load(const PerMatrix& weights) override { weight_.pack(weights[0], packing_); }

  at::Tensor apply(const HeadTokens& x, Range tokens, const HeadTokens& out, bool /*keep*/) override {
    for_each_block(sizes_.heads, block_ / kSlice, tokens, block_, [&](Range heads, Range block) {
      first_.pack(x, heads, block, packing_, {true, false});
      multiply(weight_, true, out, heads, block);
    });
    return {};
  }

  // Σ_t rate_t v_t k_tᵀ
  at::Tensor descend(const WrittenChunk& chunk, const PerMatrix& sums, bool /*keep*/) override {
    const PaddedSums sum(sums[0]);
    for_each_block(sizes_.heads, panels_of(sizes_.out), chunk.tokens, block_, [&](Range heads, Range block) {
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
    for_each_block(sizes_.heads, panels_of(sizes_.out), tokens, block_, [&](Range heads, Range block) {
      first_.pack(out_gradient, heads, block, packing_, {true, true});
      second_.pack(x, heads, block, packing_, {false, true});
      add_outer(heads, block, sum);
      multiply(weight_, false, x_gradient, heads, block);
    });
  }

  // With the sum's gradient A:  dk = rate Aᵀ v,  dv = rate A k,  drate = v · (A k).
  void descend_backward(const WrittenChunk& chunk, const PerMatrix& sum_gradients, const at::Tensor& /*kept*/,
                        const WrittenChunk& gradients, const PerMatrix& /*weight_gradients*/) override {
    factor_.pack(sum_gradients[0], packing_);
    const int64_t out = sizes_.out, in = sizes_.in;
    for_each_block(sizes_.heads, block_ / kSlice, chunk.tokens, block_, [&](Range heads, Range block) {
      first_.pack(chunk.v, heads, block, packing_, {true, false});
      second_.pack(chunk.k, heads, block, packing_, {true, false});
      const int64_t room = kSlice * (in + 2 * out) + kernels::product_scratch(kSlice, std::max(in, out));
      float* scratches = scratch_.numbers(num_workers() * room);
      const int64_t slices = slices_of(block.size());
      for_each_item(heads.size() * slices, [&](int64_t item, int64_t worker) {
        const int64_t own = item / slices, head = heads.begin + own, first = item % slices * kSlice,
                      count = std::min(kSlice, block.size() - first), token = block.begin + first;
        float* keys = scratches + worker * room;
        float *values = keys + kSlice * in, *pulls = values + kSlice * out, *sums = pulls + kSlice * out;
        const ProductTerm key_term = term_of(first_, own, first, factor_.plain(head));
        kernel_.token_product(packing_, &key_term, 1, count, in, {keys, in, false}, sums);
        const ProductTerm value_term = term_of(second_, own, first, factor_.turned(head));
        kernel_.token_product(packing_, &value_term, 1, count, out, {values, out, false}, sums);
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
  ProductTerm term_of(const PackedTokens& tokens, int64_t own_head, int64_t first,
                      const uint32_t* panels) const {
    const auto forms = tokens.forms(own_head);
    return {forms.slabs + kernels::words_for(packing_, first * kPanel), forms.slab_stride, panels,
            forms.words};
  }

  /// out = x Wᵀ (turned) or x W for the tokens packed first.
  void multiply(const PackedMatrix& matrix, bool turned, const HeadTokens& out, Range heads, Range block) {
    const int64_t scratch = kernels::product_scratch(kSlice, out.width());
    float* scratches = scratch_.numbers(num_workers() * scratch);
    for_each_product(heads, block, out.width(), [&](const ProductPiece& piece) {
      const ProductTerm term =
          term_of(first_, piece.own_head, piece.first,
                  turned ? matrix.turned(piece.head, piece.panel) : matrix.plain(piece.head, piece.panel));
      const int64_t column = piece.panel * kPanel;
      kernel_.token_product(packing_, &term, 1, piece.tokens,
                            std::min(piece.panels * kPanel, out.width() - column),
                            {out.at(piece.head, block.begin + piece.first, column), out.stride(), out.bf16()},
                            scratches + piece.worker * scratch);
    });
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
  int64_t block_;
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
