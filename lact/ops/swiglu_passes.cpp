// The four passes of f(x) = down (silu(gate x) ∘ (up x)). Each goes through blocks of tokens in three phases
// that all cores share: pack the tokens, work through the hidden channels 32 at a time, multiply what they
// left behind.
#include <array>
#include <initializer_list>

#include "lact/ops/token_blocks.h"

namespace lact::ops::fused {

namespace {

using kernels::HiddenPiece;
using kernels::ProductTerm;

/// Order of a network's matrices.
enum Matrix { kGate, kDown, kUp };

class SwigluPasses final : public FastWeightPasses {
 public:
  SwigluPasses(const NetworkSizes& sizes, bool bf16)
      : sizes_(sizes),
        bf16_(bf16),
        packing_(bf16 && kernels::multiplies_pairs() ? kernels::Packing::pairs : kernels::Packing::singles),
        panels_(panels_of(sizes.hidden)),
        block_(block_tokens(std::max(sizes.in, sizes.out), sizes.in * sizes.hidden)) {}

  void load(const PerMatrix& weights) override {
    for (size_t i = 0; i < 3; ++i) weights_[i].pack(weights[i], packing_);
  }

  at::Tensor apply(const HeadTokens& x, Range tokens, const HeadTokens& out, bool keep) override {
    const at::Tensor kept = keep ? keep_room(2, tokens) : at::Tensor();
    for_each_block(sizes_.heads, panels_, tokens, block_, [&](Range heads, Range block) {
      x_.pack(x, heads, block, packing_, {true, false});
      make_slabs(heads, block, 1);
      for_each_piece(heads, block, [&](HiddenPiece& piece, int64_t head, int64_t panel) {
        piece.hidden_slab = slab(0, head - heads.begin, panel);
        piece.kept = kept_at(kept, head, panel, block.begin - tokens.begin, 2);
        kernel_.apply(piece);
      });
      for_each_product(heads, block, sizes_.out, [&](const ProductPiece& piece) {
        const ProductTerm term = hidden_term(0, piece, weights_[kDown].turned(piece.head, piece.panel));
        multiply({term}, piece, out, block.begin);
      });
    });
    return kept;
  }

  at::Tensor descend(const WrittenChunk& chunk, const PerMatrix& sums, bool keep) override {
    const at::Tensor kept = keep ? keep_room(3, chunk.tokens) : at::Tensor();
    const PaddedSums gate(sums[kGate]), down(sums[kDown], true), up(sums[kUp]);
    for_each_block(sizes_.heads, panels_, chunk.tokens, block_, [&](Range heads, Range block) {
      x_.pack(chunk.k, heads, block, packing_, {true, true});
      pull_.pack(chunk.v, heads, block, packing_, {true, true});
      for_each_piece(heads, block, [&](HiddenPiece& piece, int64_t head, int64_t panel) {
        piece.pull = pull_.forms(head - heads.begin);
        set_rates(piece, chunk, head, block.begin);
        set_sums(piece, gate, down, up, head, panel);
        piece.kept = kept_at(kept, head, panel, block.begin - chunk.tokens.begin, 3);
        kernel_.descend(piece);
      });
    });
    return kept;
  }

  void apply_backward(const HeadTokens& x, Range tokens, const HeadTokens& out_gradient,
                      const at::Tensor& kept, const HeadTokens& x_gradient,
                      const PerMatrix& weight_gradients) override {
    const PaddedSums gate(weight_gradients[kGate]), down(weight_gradients[kDown], true),
        up(weight_gradients[kUp]);
    for_each_block(sizes_.heads, panels_, tokens, block_, [&](Range heads, Range block) {
      x_.pack(x, heads, block, packing_, {true, true});
      pull_.pack(out_gradient, heads, block, packing_, {true, true});
      make_slabs(heads, block, 2);
      for_each_piece(heads, block, [&](HiddenPiece& piece, int64_t head, int64_t panel) {
        piece.pull = pull_.forms(head - heads.begin);
        set_sums(piece, gate, down, up, head, panel);
        piece.gate_slab = slab(0, head - heads.begin, panel);
        piece.up_slab = slab(1, head - heads.begin, panel);
        piece.kept = kept_at(kept, head, panel, block.begin - tokens.begin, 2);
        kernel_.apply_backward(piece);
      });
      // dx = dG gate + dU up
      for_each_product(heads, block, sizes_.in, [&](const ProductPiece& piece) {
        const auto term = [&](int64_t which, const PackedMatrix& matrix) {
          return hidden_term(which, piece, matrix.plain(piece.head, piece.panel));
        };
        multiply({term(0, weights_[kGate]), term(1, weights_[kUp])}, piece, x_gradient, block.begin);
      });
    });
  }

  void descend_backward(const WrittenChunk& chunk, const PerMatrix& sum_gradients, const at::Tensor& kept,
                        const WrittenChunk& gradients, const PerMatrix& weight_gradients) override {
    for (size_t i = 0; i < 3; ++i) factors_[i].pack(sum_gradients[i], packing_);
    const PaddedSums gate(weight_gradients[kGate]), down(weight_gradients[kDown], true),
        up(weight_gradients[kUp]);
    for_each_block(sizes_.heads, panels_, chunk.tokens, block_, [&](Range heads, Range block) {
      x_.pack(chunk.k, heads, block, packing_, {true, true});
      pull_.pack(chunk.v, heads, block, packing_, {true, true});
      make_slabs(heads, block, 6);
      float* shares = rate_shares_.numbers(heads.size() * 3 * panels_ * block.size());
      for_each_piece(heads, block, [&](HiddenPiece& piece, int64_t head, int64_t panel) {
        const int64_t own = head - heads.begin;
        piece.pull = pull_.forms(head - heads.begin);
        set_rates(piece, chunk, head, block.begin);
        set_sums(piece, gate, down, up, head, panel);
        piece.gate_factor = factors_[kGate].turned(head, panel);
        piece.up_factor = factors_[kUp].turned(head, panel);
        piece.down_factor = factors_[kDown].plain(head, panel);
        piece.gate_factor_slab = slab(0, own, panel), piece.up_factor_slab = slab(1, own, panel);
        piece.gate_slab = slab(2, own, panel), piece.up_slab = slab(3, own, panel);
        piece.hidden_slab = slab(4, own, panel), piece.pull_slab = slab(5, own, panel);
        const auto share = [&](int64_t matrix) {
          return shares + ((own * 3 + matrix) * panels_ + panel) * block.size();
        };
        piece.gate_rate_sum = share(kGate), piece.down_rate_sum = share(kDown),
        piece.up_rate_sum = share(kUp);
        piece.kept = kept_at(kept, head, panel, block.begin - chunk.tokens.begin, 3);
        kernel_.descend_backward(piece);
      });
      for_each_product(heads, block, sizes_.in, [&](const ProductPiece& piece) {
        const auto term = [&](int64_t which, const PackedMatrix& matrix) {
          return hidden_term(which, piece, matrix.plain(piece.head, piece.panel));
        };
        multiply({term(0, factors_[kGate]), term(1, factors_[kUp]), term(2, weights_[kGate]),
                  term(3, weights_[kUp])},
                 piece, gradients.k, block.begin);
        if (piece.panel > 0) return;
        for (int64_t matrix = 0; matrix < 3; ++matrix) {
          add_shares(shares + (piece.own_head * 3 + matrix) * panels_ * block.size() + piece.first,
                     block.size(), piece.tokens,
                     rates_at(gradients, matrix, piece.head, block.begin + piece.first));
        }
      });
      for_each_product(heads, block, sizes_.out, [&](const ProductPiece& piece) {
        const auto term = [&](int64_t which, const PackedMatrix& matrix) {
          return hidden_term(which, piece, matrix.turned(piece.head, piece.panel));
        };
        multiply({term(4, factors_[kDown]), term(5, weights_[kDown])}, piece, gradients.v, block.begin);
      });
    });
  }

 private:
  static float* rates_at(const WrittenChunk& chunk, int64_t matrix, int64_t head, int64_t token) {
    const at::Tensor& rates = chunk.rates[size_t(matrix)];
    return rates.data_ptr<float>() + head * rates.size(1) + token;
  }

  /// Numbers [heads, count, panels, T, 32] of G, U (and P).
  at::Tensor keep_room(int64_t count, Range tokens) const {
    return at::empty({sizes_.heads, count, panels_, tokens.size(), kPanel},
                     bf16_ ? at::kBFloat16 : at::kFloat);
  }
  kernels::KeptHidden kept_at(const at::Tensor& kept, int64_t head, int64_t panel, int64_t token,
                              int64_t count) const {
    if (!kept.defined()) return {};
    const int64_t size = bf16_ ? 2 : 4, tokens = kept.size(3);
    const auto at = [&](int64_t which) -> void* {
      if (which >= count) return nullptr;
      return static_cast<char*>(kept.data_ptr()) +
             (((head * count + which) * panels_ + panel) * tokens + token) * kPanel * size;
    };
    return {at(0), at(1), at(2)};
  }

  /// Slabs of the hidden channels, `count` of them for every head of the group; and room for products.
  void make_slabs(Range heads, Range block, int64_t count) {
    // One tile more, as in PackedTokens::pack.
    const int64_t rows = kernels::round_up_to(block.size(), kernels::kTileUnit) + kernels::kTileUnit / 4;
    slab_stride_ = kernels::words_for(packing_, rows * kPanel);
    head_stride_ = panels_ * slab_stride_;
    form_stride_ = heads.size() * head_stride_;
    slabs_ = slab_memory_.words(count * form_stride_);
    product_scratch_ = kernels::product_scratch(kSlice, std::max(sizes_.in, sizes_.out));
    products_ = product_memory_.numbers(num_workers() * product_scratch_);
  }
  uint32_t* slab(int64_t which, int64_t own_head, int64_t panel) const {
    return slabs_ + which * form_stride_ + own_head * head_stride_ + panel * slab_stride_;
  }
  ProductTerm hidden_term(int64_t which, const ProductPiece& piece, const uint32_t* panels) const {
    return {slab(which, piece.own_head, 0) + kernels::words_for(packing_, piece.first * kPanel), slab_stride_,
            panels, kernels::words_for(packing_, sizes_.hidden)};
  }

  void multiply(std::initializer_list<ProductTerm> terms, const ProductPiece& piece, const HeadTokens& out,
                int64_t block_begin) const {
    const int64_t first = piece.panel * kPanel;
    kernel_.token_product(packing_, terms.begin(), int64_t(terms.size()), piece.tokens,
                          std::min(piece.panels * kPanel, out.width() - first),
                          {out.at(piece.head, block_begin + piece.first, first), out.stride(), out.bf16()},
                          products_ + piece.worker * product_scratch_);
  }

  template <class Body>
  void for_each_piece(Range heads, Range block, const Body& body) {
    const int64_t scratch = kernels::kHiddenScratch;
    uint32_t* scratches = scratch_memory_.words(num_workers() * scratch);
    for_each_item(heads.size() * panels_, [&](int64_t item, int64_t worker) {
      const int64_t head = heads.begin + item / panels_, panel = item % panels_;
      HiddenPiece piece = {.packing = packing_,
                           .bf16 = bf16_,
                           .tokens = block.size(),
                           .x = x_.forms(item / panels_),
                           .pull = {},
                           .in_width = sizes_.in,
                           .out_width = sizes_.out,
                           .gate = weights_[kGate].turned(head, panel),
                           .up = weights_[kUp].turned(head, panel),
                           .down = weights_[kDown].plain(head, panel),
                           .scratch = scratches + worker * scratch};
      body(piece, head, panel);
    });
  }
  static void set_rates(HiddenPiece& piece, const WrittenChunk& chunk, int64_t head, int64_t token) {
    piece.gate_rate = rates_at(chunk, kGate, head, token);
    piece.down_rate = rates_at(chunk, kDown, head, token);
    piece.up_rate = rates_at(chunk, kUp, head, token);
  }
  static void set_sums(HiddenPiece& piece, const PaddedSums& gate, const PaddedSums& down,
                       const PaddedSums& up, int64_t head, int64_t panel) {
    piece.gate_sum = gate.row(head, panel * kPanel);
    piece.up_sum = up.row(head, panel * kPanel);
    piece.down_sum = down.row(head, panel * kPanel);
    piece.sum_in = gate.columns(), piece.sum_out = down.columns();
  }

  /// Adds the hidden channels' shares [panels][stride] in their order.
  void add_shares(const float* shares, int64_t stride, int64_t tokens, float* to) const {
    for (int64_t t = 0; t < tokens; ++t) {
      float total = 0;
      for (int64_t panel = 0; panel < panels_; ++panel) total += shares[panel * stride + t];
      to[t] = total;
    }
  }

  NetworkSizes sizes_;
  bool bf16_;
  kernels::Packing packing_;
  int64_t panels_, block_;
  const kernels::FastWeightKernels& kernel_ = kernels::fast_weight_kernels();
  std::array<PackedMatrix, 3> weights_, factors_;
  PackedTokens x_, pull_;
  Buffer slab_memory_, product_memory_, scratch_memory_, rate_shares_;
  uint32_t* slabs_ = nullptr;
  float* products_ = nullptr;
  int64_t slab_stride_ = 0, head_stride_ = 0, form_stride_ = 0, product_scratch_ = 0;
};

}  // namespace

std::unique_ptr<FastWeightPasses> swiglu_passes(const NetworkSizes& sizes, bool bf16) {
  return std::make_unique<SwigluPasses>(sizes, bf16);
}

}  // namespace lact::ops::fused
