// The passes of f(x) = down (silu(gate x) ∘ (up x)). Each goes through blocks of tokens in three phases that
// all cores share: pack the tokens, work through the hidden channels 32 at a time, multiply what they left
// behind.
#include <array>
#include <initializer_list>
#include <optional>

#include "lact/ttt/passes/token_blocks.h"

namespace lact::ttt::fused {

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

  KeptChunk forward(const ReadChunk* read, const WrittenChunk* written, const PerMatrix& sums,
                    bool keep) override {
    make_scratch();
    KeptChunk kept;
    if (keep && read) kept.read = keep_room(2, read->tokens);
    if (keep && written) kept.written = keep_room(3, written->tokens);
    std::optional<NetworkSums> summed;
    if (written) summed.emplace(sums);
    const int64_t tokens = (read ? read->tokens : written->tokens).size();
    for_each_block(sizes_.heads, panels_, tokens, block_, [&](Range heads, Range block) {
      Phases phases;
      if (read) add_apply(phases, *read, kept.read, heads, block);
      if (written) add_descend(phases, *written, kept.written, *summed, heads, block);
      phases.run();
    });
    return kept;
  }

  void apply_backward(const ReadChunk& chunk, const at::Tensor& kept, const ReadChunk& gradients,
                      const PerMatrix& weight_gradients) override {
    make_scratch();
    const NetworkSums sums(weight_gradients);
    for_each_block(sizes_.heads, panels_, chunk.tokens.size(), block_, [&](Range heads, Range block) {
      const Range tokens = block_of(chunk.tokens, block);
      Phases phases;
      x_.pack(phases.pack, chunk.x, heads, tokens, packing_, {true, true});
      output_gradient_.pack(phases.pack, gradients.out, heads, tokens, packing_, {true, true});
      slabs_.make(2, heads.size(), panels_, block.size(), packing_);
      add_pieces(phases.hidden, x_, heads, block, [&](HiddenPiece& piece, int64_t head, int64_t panel) {
        const int64_t own = head - heads.begin;
        piece.output_gradient = output_gradient_.forms(own);
        set_sums(piece, sums, head, panel);
        piece.gate_slab = slabs_.at(0, own, panel), piece.up_slab = slabs_.at(1, own, panel);
        piece.kept = kept_at(kept, head, panel, block.begin, 2);
        kernel_.apply_backward(piece);
      });
      // dx = dG gate + dU up
      add_products(phases.product, heads, block.size(), sizes_.in, [&](const ProductPiece& piece) {
        const auto term = [&](int64_t kind, const PackedMatrix& matrix) {
          return hidden_term(kind, piece, matrix.plain(piece.head, piece.panel));
        };
        multiply({term(0, weights_[kGate]), term(1, weights_[kUp])}, piece, gradients.x, tokens.begin);
      });
      phases.run();
    });
  }

  void descend_backward(const WrittenChunk& chunk, const PerMatrix& sum_gradients, const at::Tensor& kept,
                        const WrittenChunk& gradients, const PerMatrix& weight_gradients) override {
    for (size_t i = 0; i < 3; ++i) factors_[i].pack(sum_gradients[i], packing_);
    make_scratch();
    const NetworkSums sums(weight_gradients);
    for_each_block(sizes_.heads, panels_, chunk.tokens.size(), block_, [&](Range heads, Range block) {
      const Range tokens = block_of(chunk.tokens, block);
      Phases phases;
      x_.pack(phases.pack, chunk.k, heads, tokens, packing_, {true, true});
      output_gradient_.pack(phases.pack, chunk.v, heads, tokens, packing_, {true, true});
      slabs_.make(6, heads.size(), panels_, block.size(), packing_);
      float* shares = rate_shares_.numbers(heads.size() * 3 * panels_ * block.size());
      add_pieces(phases.hidden, x_, heads, block, [&](HiddenPiece& piece, int64_t head, int64_t panel) {
        const int64_t own = head - heads.begin;
        piece.output_gradient = output_gradient_.forms(own);
        set_rates(piece, chunk, head, tokens.begin);
        set_sums(piece, sums, head, panel);
        piece.gate_factor = factors_[kGate].transposed(head, panel);
        piece.up_factor = factors_[kUp].transposed(head, panel);
        piece.down_factor = factors_[kDown].plain(head, panel);
        piece.gate_factor_slab = slabs_.at(0, own, panel), piece.up_factor_slab = slabs_.at(1, own, panel);
        piece.gate_slab = slabs_.at(2, own, panel), piece.up_slab = slabs_.at(3, own, panel);
        piece.hidden_slab = slabs_.at(4, own, panel), piece.output_gradient_slab = slabs_.at(5, own, panel);
        const auto share = [&](int64_t matrix) {
          return shares + ((own * 3 + matrix) * panels_ + panel) * block.size();
        };
        piece.gate_rate_sum = share(kGate), piece.down_rate_sum = share(kDown),
        piece.up_rate_sum = share(kUp);
        piece.kept = kept_at(kept, head, panel, block.begin, 3);
        kernel_.descend_backward(piece);
      });
      add_products(phases.product, heads, block.size(), sizes_.in, [&](const ProductPiece& piece) {
        const auto term = [&](int64_t kind, const PackedMatrix& matrix) {
          return hidden_term(kind, piece, matrix.plain(piece.head, piece.panel));
        };
        multiply({term(0, factors_[kGate]), term(1, factors_[kUp]), term(2, weights_[kGate]),
                  term(3, weights_[kUp])},
                 piece, gradients.k, tokens.begin);
        if (piece.panel > 0) return;
        for (int64_t matrix = 0; matrix < 3; ++matrix) {
          add_shares(shares + (piece.own_head * 3 + matrix) * panels_ * block.size() + piece.first,
                     block.size(), piece.tokens,
                     rates_at(gradients, matrix, piece.head, tokens.begin + piece.first));
        }
      });
      add_products(phases.product, heads, block.size(), sizes_.out, [&](const ProductPiece& piece) {
        const auto term = [&](int64_t kind, const PackedMatrix& matrix) {
          return hidden_term(kind, piece, matrix.transposed(piece.head, piece.panel));
        };
        multiply({term(4, factors_[kDown]), term(5, weights_[kDown])}, piece, gradients.v, tokens.begin);
      });
      phases.run();
    });
  }

 private:
  /// Sums over tokens for each matrix. (Of down, the transposed.)
  struct NetworkSums {
    explicit NetworkSums(const PerMatrix& to) : gate(to[kGate]), down(to[kDown], true), up(to[kUp]) {}
    PaddedSums gate, down, up;
  };

  void add_apply(Phases& phases, const ReadChunk& chunk, const at::Tensor& kept, Range heads, Range block) {
    const Range tokens = block_of(chunk.tokens, block);
    queries_.pack(phases.pack, chunk.x, heads, tokens, packing_, {true, false});
    slabs_.make(1, heads.size(), panels_, block.size(), packing_);
    add_pieces(phases.hidden, queries_, heads, block,
               [=, this, &kept](HiddenPiece& piece, int64_t head, int64_t panel) {
                 piece.hidden_slab = slabs_.at(0, head - heads.begin, panel);
                 piece.kept = kept_at(kept, head, panel, block.begin, 2);
                 kernel_.apply(piece);
               });
    add_products(
        phases.product, heads, block.size(), sizes_.out, [=, this, &chunk](const ProductPiece& piece) {
          const ProductTerm term = hidden_term(0, piece, weights_[kDown].transposed(piece.head, piece.panel));
          multiply({term}, piece, chunk.out, tokens.begin);
        });
  }

  void add_descend(Phases& phases, const WrittenChunk& chunk, const at::Tensor& kept, const NetworkSums& sums,
                   Range heads, Range block) {
    const Range tokens = block_of(chunk.tokens, block);
    x_.pack(phases.pack, chunk.k, heads, tokens, packing_, {true, true});
    output_gradient_.pack(phases.pack, chunk.v, heads, tokens, packing_, {true, true});
    add_pieces(phases.hidden, x_, heads, block,
               [=, this, &chunk, &kept, &sums](HiddenPiece& piece, int64_t head, int64_t panel) {
                 piece.output_gradient = output_gradient_.forms(head - heads.begin);
                 set_rates(piece, chunk, head, tokens.begin);
                 set_sums(piece, sums, head, panel);
                 piece.kept = kept_at(kept, head, panel, block.begin, 3);
                 kernel_.descend(piece);
               });
  }

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

  ProductTerm hidden_term(int64_t kind, const ProductPiece& piece, const uint32_t* panels) const {
    return {slabs_.at(kind, piece.own_head, 0) + kernels::words_for(packing_, piece.first * kPanel),
            slabs_.stride(), panels, kernels::words_for(packing_, sizes_.hidden)};
  }

  void multiply(std::initializer_list<ProductTerm> terms, const ProductPiece& piece, const HeadTokens& out,
                int64_t block_begin) const {
    const int64_t first = piece.panel * kPanel;
    kernel_.token_product(packing_, terms.begin(), int64_t(terms.size()), piece.tokens,
                          std::min(piece.panels * kPanel, out.width() - first),
                          {out.at(piece.head, block_begin + piece.first, first), out.stride(), out.bf16()},
                          product_scratch_ + piece.worker * product_room());
  }
  int64_t product_room() const { return kernels::product_scratch(kSlice, std::max(sizes_.in, sizes_.out)); }

  /// Room of every worker's own.
  void make_scratch() {
    hidden_scratch_ = hidden_scratch_memory_.words(num_workers() * kernels::kHiddenScratch);
    product_scratch_ = product_scratch_memory_.numbers(num_workers() * product_room());
  }

  /// Adds body(piece, head, panel) for 32 hidden channels at a time.
  template <class Body>
  void add_pieces(WorkList& work, const PackedTokens& x, Range heads, Range block, const Body& body) {
    work.add(heads.size() * panels_, [=, this, &x](int64_t item, int64_t worker) {
      const int64_t head = heads.begin + item / panels_, panel = item % panels_;
      HiddenPiece piece = {.packing = packing_,
                           .bf16 = bf16_,
                           .tokens = block.size(),
                           .x = x.forms(item / panels_),
                           .output_gradient = {},
                           .in_width = sizes_.in,
                           .out_width = sizes_.out,
                           .gate = weights_[kGate].transposed(head, panel),
                           .up = weights_[kUp].transposed(head, panel),
                           .down = weights_[kDown].plain(head, panel),
                           .scratch = hidden_scratch_ + worker * kernels::kHiddenScratch};
      body(piece, head, panel);
    });
  }
  static void set_rates(HiddenPiece& piece, const WrittenChunk& chunk, int64_t head, int64_t token) {
    piece.gate_rate = rates_at(chunk, kGate, head, token);
    piece.down_rate = rates_at(chunk, kDown, head, token);
    piece.up_rate = rates_at(chunk, kUp, head, token);
  }
  static void set_sums(HiddenPiece& piece, const NetworkSums& sums, int64_t head, int64_t panel) {
    piece.gate_sum = sums.gate.row(head, panel * kPanel);
    piece.up_sum = sums.up.row(head, panel * kPanel);
    piece.down_sum = sums.down.row(head, panel * kPanel);
    piece.sum_in = sums.gate.columns(), piece.sum_out = sums.down.columns();
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
  PackedTokens queries_, x_, output_gradient_;
  HiddenSlabs slabs_;
  Buffer hidden_scratch_memory_, product_scratch_memory_, rate_shares_;
  uint32_t* hidden_scratch_ = nullptr;
  float* product_scratch_ = nullptr;
};

}  // namespace

std::unique_ptr<FastWeightPasses> swiglu_passes(const NetworkSizes& sizes, bool bf16) {
  return std::make_unique<SwigluPasses>(sizes, bf16);
}

}  // namespace lact::ttt::fused
