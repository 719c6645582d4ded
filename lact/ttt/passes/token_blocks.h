// What the passes over fast weights share: packed weights, packed blocks of tokens, buffers that live as long
// as a pass.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>

#include "lact/kernels/fast_weight.h"
#include "lact/ops/dispatch/work_items.h"
#include "lact/ttt/passes/passes.h"

namespace lact::ttt::fused {

using ops::for_each_item;
using ops::num_workers;
using ops::WorkList;

constexpr int64_t kPanel = 32;
/// Tokens of one piece of work: packing, or a product over them.
constexpr int64_t kSlice = 2 * kernels::kTileUnit;

inline int64_t panels_of(int64_t width) { return (width + kPanel - 1) / kPanel; }
inline int64_t slices_of(int64_t tokens) { return (tokens + kSlice - 1) / kSlice; }

/// Tokens of one head that are packed and worked on together. Either they stay in a core's second cache while
/// all weights pass by, or, where weights and their sums fill the cache that cores share, they are many, so
/// that these pass by less often.
inline int64_t block_tokens(int64_t token_width, int64_t weights) {
  constexpr int64_t kNumbersInSecondCache = 1 << 16, kWeightsInSharedCache = 3 << 18, kMany = 16;
  if (weights > kWeightsInSharedCache) return kMany * kernels::kTileUnit;
  return std::clamp<int64_t>(kNumbersInSecondCache / token_width / kernels::kTileUnit, 2, kMany) *
         kernels::kTileUnit;
}
inline uint32_t* words_at(const at::Tensor& buffer, int64_t word) {
  return reinterpret_cast<uint32_t*>(buffer.data_ptr<int32_t>()) + word;
}

/// Memory that is made once and used again by later calls with the same or smaller sizes.
class Buffer {
 public:
  uint32_t* words(int64_t count) {
    if (!memory_.defined() || memory_.numel() < count) memory_ = at::empty({count}, at::kInt);
    return words_at(memory_, 0);
  }
  float* numbers(int64_t count) { return reinterpret_cast<float*>(words(count)); }

 private:
  at::Tensor memory_;
};

/// The work on a block of tokens: all of a phase is done before the next one begins.
struct Phases {
  WorkList pack;     ///< tokens
  WorkList hidden;   ///< what is separable over the hidden channels
  WorkList product;  ///< what is summed over them

  void run() { pack.run(), hidden.run(), product.run(); }
};

/// Matrices [heads, out, in] as right operands: `transposed` of x Wᵀ, `plain` of y W.
class PackedMatrix {
 public:
  void pack(const at::Tensor& matrices, kernels::Packing packing);

  const uint32_t* transposed(int64_t head, int64_t panel = 0) const {
    return transposed_ + head * transposed_size_ + panel * kPanel * in_words_;
  }
  const uint32_t* plain(int64_t head, int64_t panel = 0) const {
    return plain_ + head * plain_size_ + panel * kPanel * out_words_;
  }
  int64_t in_words() const { return in_words_; }
  int64_t out_words() const { return out_words_; }

 private:
  Buffer transposed_memory_, plain_memory_;
  uint32_t *transposed_ = nullptr, *plain_ = nullptr;
  int64_t transposed_size_ = 0, plain_size_ = 0, in_words_ = 0, out_words_ = 0;
};

/// A block of tokens of several heads, packed.
class PackedTokens {
 public:
  /// Which forms are needed. With `scale` [heads, T] the panels hold token · scale.
  struct Needs {
    bool slabs, panels;
    const at::Tensor* scale = nullptr;
  };
  /// Adds the packing to `work`; the forms are there when it is done.
  void pack(WorkList& work, const HeadTokens& tokens, Range heads, Range block, kernels::Packing packing,
            Needs needs);

  /// `head` counts from the first of the packed ones.
  kernels::TokenForms forms(int64_t head) const;

 private:
  Buffer slabs_memory_, panels_memory_;
  uint32_t *slabs_ = nullptr, *panels_ = nullptr;
  int64_t slabs_size_ = 0, panels_size_ = 0, words_ = 0, slab_stride_ = 0, panel_stride_ = 0;
};

/// Slabs of hidden channels of a block of tokens: several kinds of them, each for all heads and panels.
class HiddenSlabs {
 public:
  void make(int64_t kinds, int64_t heads, int64_t panels, int64_t tokens, kernels::Packing packing);

  uint32_t* at(int64_t kind, int64_t head, int64_t panel) const {
    return words_ + ((kind * heads_ + head) * panels_ + panel) * stride_;
  }
  int64_t stride() const { return stride_; }  ///< between panels

 private:
  Buffer memory_;
  uint32_t* words_ = nullptr;
  int64_t heads_ = 0, panels_ = 0, stride_ = 0;
};

/// Sums over tokens for matrices [heads, rows, columns], added to the target at the end: in place where the
/// sizes are whole panels, else beside it, padded. `transposed`: for the transposed target.
class PaddedSums {
 public:
  explicit PaddedSums(const at::Tensor& target, bool transposed = false);
  ~PaddedSums();
  PaddedSums(const PaddedSums&) = delete;

  float* row(int64_t head, int64_t row) const { return numbers_ + (head * rows_ + row) * columns_; }
  int64_t columns() const { return columns_; }

 private:
  at::Tensor target_, beside_;
  bool transposed_;
  int64_t rows_, columns_;
  float* numbers_;
};

/// Calls body(heads, block) for groups of heads, just large enough to keep all cores busy with `pieces`
/// pieces of work per head, and blocks of `size` of the tokens: what they pack should stay in the caches.
template <class Body>
void for_each_block(int64_t heads, int64_t pieces, int64_t tokens, int64_t size, const Body& body) {
  const int64_t wanted = 8 * num_workers();
  const int64_t group = std::min(heads, std::max<int64_t>(1, (wanted + pieces - 1) / pieces));
  for (int64_t head = 0; head < heads; head += group) {
    for (int64_t token = 0; token < tokens; token += size) {
      body(Range{head, std::min(head + group, heads)}, Range{token, std::min(token + size, tokens)});
    }
  }
}

/// A block of a chunk's tokens, among all tokens.
inline Range block_of(Range chunk, Range block) {
  return {chunk.begin + block.begin, chunk.begin + block.end};
}

/// A piece of a product over the tokens of a block.
struct ProductPiece {
  int64_t head, own_head;  ///< of all, and of the block's group
  int64_t first, tokens;   ///< from the block's begin
  int64_t panel, panels;   ///< of the output's columns
  int64_t worker;
};

/// Adds body(piece) for slices of a block; where slices are few, for parts of the columns.
template <class Body>
void add_products(WorkList& work, Range heads, int64_t tokens, int64_t columns, const Body& body) {
  const int64_t slices = slices_of(tokens), panels = panels_of(columns);
  const int64_t wanted = (4 * num_workers() + heads.size() * slices - 1) / (heads.size() * slices);
  const int64_t size = (panels + wanted - 1) / wanted, parts = (panels + size - 1) / size;
  work.add(heads.size() * slices * parts, [=](int64_t item, int64_t worker) {
    const int64_t own = item / (slices * parts), slice = item / parts % slices, part = item % parts;
    const int64_t first = slice * kSlice, panel = part * size;
    body(ProductPiece{heads.begin + own, own, first, std::min(kSlice, tokens - first), panel,
                      std::min(size, panels - panel), worker});
  });
}

}  // namespace lact::ttt::fused
