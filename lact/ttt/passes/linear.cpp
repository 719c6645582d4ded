// The passes of f(x) = W x.
#include <optional>

#include "lact/ttt/passes/token_blocks.h"

namespace lact::ttt::fused {

namespace {

using kernels::ProductTerm;

class LinearPasses final : public FastWeightPasses {
 public:
  LinearPasses(const NetworkSizes& sizes, bool bf16)
      : sizes_(sizes),
        packing_(bf16 && kernels::multiplies_pairs() ? kernels::Packing::pairs : kernels::Packing::singles),
        block_(block_tokens(std::max(sizes.in, sizes.out), sizes.in * sizes.out)) {}

  void load(const PerMatrix& weights) override { weight_.pack(weights[0], packing_); }

  KeptChunk forward(const ReadChunk* read, const WrittenChunk* written, const PerMatrix& sums,
                    bool /*keep*/) override {
    std::optional<PaddedSums> sum;
    if (written) sum.emplace(sums[0]);
    const int64_t tokens = (read ? read->tokens : written->tokens).size();
    for_each_block(sizes_.heads, panels_of(sizes_.out), tokens, block_, [&](Range heads, Range block) {
      Phases phases;
      if (read) {
        const Range own = block_of(read->tokens, block);
        x_.pack(phases.pack, read->x, heads, own, packing_, {true, false});
        add_multiply(phases.product, x_, weight_, true, read->out, heads, own);
      }
      // Σ_t rate_t v_t k_tᵀ
      if (written) {
        const Range own = block_of(written->tokens, block);
        output_gradient_.pack(phases.pack, written->v, heads, own, packing_,
                              {false, true, &written->rates[0]});
        keys_.pack(phases.pack, written->k, heads, own, packing_, {false, true});
        add_outer(phases.product, keys_, heads, block, *sum);
      }
      phases.run();
    });
    return {};
  }

  void apply_backward(const ReadChunk& chunk, const at::Tensor& /*kept*/, const ReadChunk& gradients,
                      const PerMatrix& weight_gradients) override {
    const PaddedSums sum(weight_gradients[0]);
    for_each_block(
        sizes_.heads, panels_of(sizes_.out), chunk.tokens.size(), block_, [&](Range heads, Range block) {
          const Range tokens = block_of(chunk.tokens, block);
          Phases phases;
          output_gradient_.pack(phases.pack, gradients.out, heads, tokens, packing_, {true, true});
          x_.pack(phases.pack, chunk.x, heads, tokens, packing_, {false, true});
          add_outer(phases.product, x_, heads, block, sum);
          add_multiply(phases.product, output_gradient_, weight_, false, gradients.x, heads, tokens);
          phases.run();
        });
  }

  // With the sum's gradient A:  dk = rate Aᵀ v,  dv = rate A k,  drate = v · (A k).
  void descend_backward(const WrittenChunk& chunk, const PerMatrix& sum_gradients, const at::Tensor& /*kept*/,
                        const WrittenChunk& gradients, const PerMatrix& /*weight_gradients*/) override {
    factor_.pack(sum_gradients[0], packing_);
    const int64_t out = sizes_.out, in = sizes_.in;
    for_each_block(sizes_.heads, block_ / kSlice, chunk.tokens.size(), block_, [&](Range heads, Range block) {
      const Range all = block_of(chunk.tokens, block);
      Phases phases;
      output_gradient_.pack(phases.pack, chunk.v, heads, all, packing_, {true, false});
      keys_.pack(phases.pack, chunk.k, heads, all, packing_, {true, false});
      const int64_t room = kSlice * (in + 2 * out) + kernels::product_scratch(kSlice, std::max(in, out));
      float* scratches = scratch_.numbers(num_workers() * room);
      const int64_t slices = slices_of(block.size());
      phases.product.add(heads.size() * slices, [&, room, slices, scratches](int64_t item, int64_t worker) {
        const int64_t own = item / slices, head = heads.begin + own, first = item % slices * kSlice,
                      count = std::min(kSlice, block.size() - first), token = all.begin + first;
        float* keys = scratches + worker * room;
        float *values = keys + kSlice * in, *output_gradients = values + kSlice * out,
              *sums = output_gradients + kSlice * out;
        const ProductTerm key_term = term_of(output_gradient_, own, first, factor_.plain(head));
        kernel_.token_product(packing_, &key_term, 1, count, in, {keys, in, false}, sums);
        const ProductTerm value_term = term_of(keys_, own, first, factor_.transposed(head));
        kernel_.token_product(packing_, &value_term, 1, count, out, {values, out, false}, sums);
        widen(chunk.v.rows(head, token), count, out, output_gradients);
        const float* rates = chunk.rates[0].data_ptr<float>() + head * chunk.rates[0].size(1) + token;
        float* rate_gradients = gradients.rates[0].data_ptr<float>() + head * chunk.rates[0].size(1) + token;
        for (int64_t t = 0; t < count; ++t) {
          float along = 0;
          for (int64_t i = 0; i < out; ++i) along += values[t * out + i] * output_gradients[t * out + i];
          rate_gradients[t] = along;
          write_row(keys + t * in, in, rates[t], gradients.k, head, token + t);
          write_row(values + t * out, out, rates[t], gradients.v, head, token + t);
        }
      });
      phases.run();
    });
  }

 private:
  ProductTerm term_of(const PackedTokens& tokens, int64_t own_head, int64_t first,
                      const uint32_t* panels) const {
    const auto forms = tokens.forms(own_head);
    return {forms.slabs + kernels::words_for(packing_, first * kPanel), forms.slab_stride, panels,
            forms.words};
  }

  /// Adds out = x Wᵀ (transposed) or x W for packed tokens.
  void add_multiply(WorkList& work, const PackedTokens& x, const PackedMatrix& matrix, bool transposed,
                    const HeadTokens& out, Range heads, Range tokens) {
    const int64_t scratch = kernels::product_scratch(kSlice, out.width());
    float* scratches = scratch_.numbers(num_workers() * scratch);
    add_products(
        work, heads, tokens.size(), out.width(), [=, this, &x, &matrix, &out](const ProductPiece& piece) {
          const ProductTerm term = term_of(x, piece.own_head, piece.first,
                                           transposed ? matrix.transposed(piece.head, piece.panel)
                                                      : matrix.plain(piece.head, piece.panel));
          const int64_t column = piece.panel * kPanel;
          kernel_.token_product(
              packing_, &term, 1, piece.tokens, std::min(piece.panels * kPanel, out.width() - column),
              {out.at(piece.head, tokens.begin + piece.first, column), out.stride(), out.bf16()},
              scratches + piece.worker * scratch);
        });
  }

  /// Adds sum += Aᵀ B for the packed block, with the gradients as A.
  void add_outer(WorkList& work, const PackedTokens& x, Range heads, Range block, const PaddedSums& sum) {
    const int64_t panels = panels_of(sizes_.out), words = kernels::words_for(packing_, block.size());
    work.add(heads.size() * panels, [=, this, &x, &sum](int64_t item, int64_t) {
      const int64_t own = item / panels, panel = item % panels;
      const auto a = output_gradient_.forms(own), b = x.forms(own);
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
  PackedTokens x_, keys_, output_gradient_;
  Buffer scratch_;
};

}  // namespace

std::unique_ptr<FastWeightPasses> linear_passes(const NetworkSizes& sizes, bool bf16) {
  return std::make_unique<LinearPasses>(sizes, bf16);
}

}  // namespace lact::ttt::fused
