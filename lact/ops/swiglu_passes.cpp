// The four passes of f(x) = down (silu(gate x) ∘ (up x)). Each goes through blocks of tokens in three phases
// that all cores share: pack the tokens, work through the hidden channels 32 at a time, multiply what they
// left behind.
#include <array>

#include "lact/ops/token_blocks.h"

namespace lact::ops::fused {

namespace {

using kernels::HiddenPiece;
using kernels::ProductTerm;

/// Order of a network's matrices.
enum Matrix { kGate, kDown, kUp };

/// Words of a cache line.
constexpr int64_t kLine = 16;

class SwigluPasses final : public FastWeightPasses {
 public:
  SwigluPasses(const NetworkSizes& sizes, bool bf16)
      : sizes_(sizes),
        bf16_(bf16),
        packing_(bf16 && kernels::multiplies_pairs() ? kernels::Packing::pairs : kernels::Packing::singles),
        panels_(panels_of(sizes.hidden)) {}

  void load(const PerMatrix& weights) override {
    for (size_t i = 0; i < 3; ++i) weights_[i].pack(weights[i], packing_);
  }

  at::Tensor apply(const HeadTokens& x, Range tokens, const HeadTokens& out, bool keep) override {
    const at::Tensor kept = keep ? keep_room(2, tokens) : at::Tensor();
    for_each_block(sizes_.heads, panels_, tokens, [&](Range heads, Range block) {
      x_.pack(x, heads, block, packing_, {true, false});
      make_row_forms(heads, block, 1);
      for_each_piece(heads, block, [&](HiddenPiece& piece, int64_t head, int64_t panel) {
        piece.hidden_rows = row_form(0, head - heads.begin, panel);
        piece.kept = kept_at(kept, head, panel, block.begin - tokens.begin, 2);
        kernel_.apply(piece);
      });
      for_each_slice(heads, block, [&](int64_t head, int64_t first, int64_t count) {
        const ProductTerm term = hidden_term(0, head - heads.begin, first, weights_[kDown].turned(head));
        multiply(&term, 1, count, out, head, block.begin + first);
      });
    });
    return kept;
  }

  at::Tensor descend(const WrittenChunk& chunk, const PerMatrix& sums, bool keep) override {
    const at::Tensor kept = keep ? keep_room(3, chunk.tokens) : at::Tensor();
    const PaddedSums gate(sums[kGate]), down(sums[kDown]), up(sums[kUp]);
    for_each_block(sizes_.heads, panels_, chunk.tokens, [&](Range heads, Range block) {
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
    const PaddedSums gate(weight_gradients[kGate]), down(weight_gradients[kDown]), up(weight_gradients[kUp]);
    for_each_block(sizes_.heads, panels_, tokens, [&](Range heads, Range block) {
      x_.pack(x, heads, block, packing_, {true, true});
      pull_.pack(out_gradient, heads, block, packing_, {true, true});
      make_row_forms(heads, block, 2);
      for_each_piece(heads, block, [&](HiddenPiece& piece, int64_t head, int64_t panel) {
        piece.pull = pull_.forms(head - heads.begin);
        set_sums(piece, gate, down, up, head, panel);
        piece.gate_rows = row_form(0, head - heads.begin, panel);
        piece.up_rows = row_form(1, head - heads.begin, panel);
        piece.kept = kept_at(kept, head, panel, block.begin - tokens.begin, 2);
        kernel_.apply_backward(piece);
      });
      // dx = dG gate + dU up
      for_each_slice(heads, block, [&](int64_t head, int64_t first, int64_t count) {
        const int64_t own = head - heads.begin;
        const std::array terms = {hidden_term(0, own, first, weights_[kGate].plain(head)),
                                  hidden_term(1, own, first, weights_[kUp].plain(head))};
        multiply(terms.data(), 2, count, x_gradient, head, block.begin + first);
      });
    });
  }

  void descend_backward(const WrittenChunk& chunk, const PerMatrix& sum_gradients, const at::Tensor& kept,
                        const WrittenChunk& gradients, const PerMatrix& weight_gradients) override {
    for (size_t i = 0; i < 3; ++i) factors_[i].pack(sum_gradients[i], packing_);
    const PaddedSums gate(weight_gradients[kGate]), down(weight_gradients[kDown]), up(weight_gradients[kUp]);
    for_each_block(sizes_.heads, panels_, chunk.tokens, [&](Range heads, Range block) {
      x_.pack(chunk.k, heads, block, packing_, {true, true});
      pull_.pack(chunk.v, heads, block, packing_, {true, true});
      make_row_forms(heads, block, 6);
      float* shares = rate_shares_.numbers(heads.size() * 3 * panels_ * block.size());
      for_each_piece(heads, block, [&](HiddenPiece& piece, int64_t head, int64_t panel) {
        const int64_t own = head - heads.begin;
        piece.pull = pull_.forms(head - heads.begin);
        set_rates(piece, chunk, head, block.begin);
        set_sums(piece, gate, down, up, head, panel);
        piece.gate_factor = factors_[kGate].turned(head, panel);
        piece.up_factor = factors_[kUp].turned(head, panel);
        piece.down_factor = factors_[kDown].plain(head, panel);
        piece.gate_factor_rows = row_form(0, own, panel), piece.up_factor_rows = row_form(1, own, panel);
        piece.gate_rows = row_form(2, own, panel), piece.up_rows = row_form(3, own, panel);
        piece.hidden_rows = row_form(4, own, panel), piece.pull_rows = row_form(5, own, panel);
        const auto share = [&](int64_t matrix) {
          return shares + ((own * 3 + matrix) * panels_ + panel) * block.size();
        };
        piece.gate_rate_sum = share(kGate), piece.down_rate_sum = share(kDown),
        piece.up_rate_sum = share(kUp);
        piece.kept = kept_at(kept, head, panel, block.begin - chunk.tokens.begin, 3);
        kernel_.descend_backward(piece);
      });
      for_each_slice(heads, block, [&](int64_t head, int64_t first, int64_t count) {
        const int64_t own = head - heads.begin;
        const std::array key_terms = {hidden_term(0, own, first, factors_[kGate].plain(head)),
                                      hidden_term(1, own, first, factors_[kUp].plain(head)),
                                      hidden_term(2, own, first, weights_[kGate].plain(head)),
                                      hidden_term(3, own, first, weights_[kUp].plain(head))};
        multiply(key_terms.data(), 4, count, gradients.k, head, block.begin + first);
        const std::array value_terms = {hidden_term(4, own, first, factors_[kDown].turned(head)),
                                        hidden_term(5, own, first, weights_[kDown].turned(head))};
        multiply(value_terms.data(), 2, count, gradients.v, head, block.begin + first);
        for (int64_t matrix = 0; matrix < 3; ++matrix) {
          add_shares(shares + (own * 3 + matrix) * panels_ * block.size() + first, block.size(), count,
                     rates_at(gradients, matrix, head, block.begin + first));
        }
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

  /// Row forms over the hidden channels, `count` of them for every head of the group.
  void make_row_forms(Range heads, Range block, int64_t count) {
    // Rows a power of two apart would fight for the same places in the cache.
    row_words_ = kernels::words_for(packing_, panels_ * kPanel) + kLine;
    row_form_size_ = kernels::round_up_to(block.size(), kernels::kTileUnit) * row_words_;
    row_form_stride_ = heads.size() * row_form_size_;
    row_forms_ = row_memory_.words(count * row_form_stride_);
  }
  uint32_t* row_form(int64_t which, int64_t head, int64_t panel) const {
    return row_forms_ + which * row_form_stride_ + head * row_form_size_ +
           kernels::words_for(packing_, panel * kPanel);
  }
  ProductTerm hidden_term(int64_t which, int64_t head, int64_t token, const uint32_t* panels) const {
    return {row_form(which, head, 0) + token * row_words_, row_words_, panels,
            kernels::words_for(packing_, sizes_.hidden)};
  }

  void multiply(const ProductTerm* terms, int64_t count, int64_t tokens, const HeadTokens& out, int64_t head,
                int64_t token) const {
    kernel_.token_product(packing_, terms, count, tokens, out.width(),
                          {out.at(head, token), out.stride(), out.bf16()});
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
                           .hidden_words = row_words_,
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
    piece.down_sum = down.row(head, 0) + panel * kPanel;
    piece.sum_in = gate.columns(), piece.sum_hidden = down.columns();
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
  int64_t panels_;
  const kernels::FastWeightKernels& kernel_ = kernels::fast_weight_kernels();
  std::array<PackedMatrix, 3> weights_, factors_;
  PackedTokens x_, pull_;
  Buffer row_memory_, scratch_memory_, rate_shares_;
  uint32_t* row_forms_ = nullptr;
  int64_t row_words_ = 0, row_form_size_ = 0, row_form_stride_ = 0;
};

}  // namespace

std::unique_ptr<FastWeightPasses> swiglu_passes(const NetworkSizes& sizes, bool bf16) {
  return std::make_unique<SwigluPasses>(sizes, bf16);
}

}  // namespace lact::ops::fused
