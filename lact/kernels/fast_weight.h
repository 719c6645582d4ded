// The products and elementwise stages of the SwiGLU fast-weight network f(x) = down (silu(gate x) ∘ (up x))
// on a block of tokens of one head. Everything up to the hidden layer is separable over its channels: a piece
// of work is 32 of them, which owns its rows of gate and up and its columns of down. What is summed over the
// hidden layer (the output, gradients of tokens) is a product of its own, over slabs that all pieces have
// filled.
//
// Slab form, the left operand: [width / 32][tokens][32 numbers], where numbers are float32 or bfloat16 as the
// packing says. There are rows for whole tiles: after the last token, up to a multiple of kTileUnit.
//
// Notation as in docs/maths.md: G = gate x, U = up x, P = downᵀ output_gradient, S = silu(G), σ = sigmoid(G).
#pragma once

#include <cstdint>

#include "lact/kernels/products.h"

namespace lact::kernels {

/// A block of tokens in the forms that products read. Rows after the last token are zeros.
struct TokenForms {
  const uint32_t* slabs;
  const uint32_t* panels;  ///< [width / 32][words of tokens][32]: sums over tokens. Of singles, the slabs.
  int64_t words;           ///< of one token
  int64_t slab_stride;     ///< between slabs
  int64_t panel_stride;    ///< between panels
};

/// Numbers [tokens][32] of G, U and P, in the tokens' type: written by a forward pass, read by a backward
/// pass. Null pointers: not kept, computed again.
struct KeptHidden {
  void* gate = nullptr;
  void* up = nullptr;
  void* output_gradient = nullptr;
};

/// One piece of work: 32 hidden channels of one head.
struct HiddenPiece {
  Packing packing;
  bool bf16;  ///< the type of what is kept
  int64_t tokens;
  TokenForms x, output_gradient;  ///< keys or queries; values or gradients of the output
  int64_t in_width, out_width;
  /// These channels' panels of gateᵀ, upᵀ and down, and in the backward pass of an update of their gradients'
  /// factors.
  const uint32_t *gate, *up, *down;
  const uint32_t *gate_factor = nullptr, *up_factor = nullptr, *down_factor = nullptr;
  /// One number per token; null means 1.
  const float *gate_rate = nullptr, *up_rate = nullptr, *down_rate = nullptr;
  KeptHidden kept = {};

  /// Slabs of these hidden channels. Which of them are used depends on the pass.
  uint32_t *hidden_slab = nullptr, *gate_slab = nullptr, *up_slab = nullptr, *output_gradient_slab = nullptr,
           *gate_factor_slab = nullptr, *up_factor_slab = nullptr;

  /// Sums over tokens, added to: these channels' rows of gate and up [32][sum_in] and of downᵀ [32][sum_out].
  /// Padded to whole panels.
  float *gate_sum = nullptr, *up_sum = nullptr, *down_sum = nullptr;
  int64_t sum_in = 0, sum_out = 0;

  /// These channels' share of the rates' gradients, one number per token.
  float *gate_rate_sum = nullptr, *up_rate_sum = nullptr, *down_rate_sum = nullptr;

  uint32_t* scratch;  ///< kHiddenScratch words of the worker's own
};
constexpr int64_t kHiddenScratch = 3 * 112 * 32;

/// One term of a product summed over several: slabs times a panel form.
struct ProductTerm {
  const uint32_t* slabs;  ///< at the first token
  int64_t slab_stride;
  const uint32_t* panels;
  int64_t words;  ///< depth, in words; panels lie 32 · words apart
};

/// Numbers to write: float32 or bfloat16, rows `stride` apart.
struct RowsOut {
  void* numbers;
  int64_t stride;
  bool bf16;
};

inline int64_t product_scratch(int64_t tokens, int64_t columns) {
  return round_up_to(tokens, kTileUnit) * round_up_to(columns, 32);
}

struct FastWeightKernels {
  /// The slabs of a block of tokens, with zeros up to a multiple of kTileUnit.
  void (*pack_slabs)(Packing packing, NumberRows from, int64_t tokens, int64_t width, uint32_t* slabs,
                     int64_t slab_stride);

  /// Its panels; each token times scale[token], if there is a scale.
  void (*pack_panels)(Packing packing, NumberRows from, int64_t tokens, int64_t width, uint32_t* panels,
                      int64_t panel_stride, const float* scale);

  /// hidden_slab = S ∘ U; keeps G, U.
  void (*apply)(const HiddenPiece& piece);

  /// Adds Σ_t rate_t · (-∂L_t/∂W) to the sums; keeps G, U, P.
  void (*descend)(const HiddenPiece& piece);

  /// From the gradient of the output (as `output_gradient`): adds the gradients of the weights to the sums,
  /// and leaves those of G and U in gate_slab and up_slab, from which follow the queries'.
  void (*apply_backward)(const HiddenPiece& piece);

  /// From the gradients of what `descend` summed (as *_factor): adds the gradients of the weights to the
  /// sums; leaves what the gradients of keys and values are made of in the slabs, and those of the rates
  /// in *_rate_sum.
  void (*descend_backward)(const HiddenPiece& piece);

  /// out [tokens, columns] = Σ slabs · panels over the terms. `scratch`: product_scratch numbers of the
  /// worker's own.
  void (*token_product)(Packing packing, const ProductTerm* terms, int64_t count, int64_t tokens,
                        int64_t columns, RowsOut out, float* scratch);

  /// sum [32][columns] += Aᵀ B over a block of tokens: one panel of A, all panels of B.
  void (*outer_sum)(Packing packing, const uint32_t* a_panel, const uint32_t* b_panels, int64_t panel_stride,
                    int64_t words, int64_t columns, float* sum, int64_t sum_stride);
};
LACT_TILE_KERNEL_TABLE(FastWeightKernels, fast_weight)

}  // namespace lact::kernels
