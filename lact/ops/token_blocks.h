// What the passes over fast weights share: packed weights, packed blocks of tokens, buffers that live as long
// as a pass.
#pragma once

#include <ATen/ATen.h>

#include "lact/kernels/fast_weight.h"
#include "lact/ops/fast_weight_passes.h"
#include "lact/ops/work_items.h"

namespace lact::ops::fused {

constexpr int64_t kPanel = 32;
/// Tokens of one head that are packed and worked on together, and tokens of one piece of work in a product
/// over them.
constexpr int64_t kBlock = 8 * kernels::kTileUnit;
constexpr int64_t kSlice = kernels::kTileUnit;

inline int64_t panels_of(int64_t width) { return (width + kPanel - 1) / kPanel; }
inline int64_t slices_of(int64_t tokens) { return (tokens + kSlice - 1) / kSlice; }
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

/// Matrices [heads, out, in] as right operands: `turned` of x Wᵀ, `plain` of y W.
class PackedMatrix {
 public:
  void pack(const at::Tensor& matrices, kernels::Packing packing);

  const uint32_t* turned(int64_t head, int64_t panel = 0) const {
    return turned_ + head * turned_size_ + panel * kPanel * in_words_;
  }
  const uint32_t* plain(int64_t head, int64_t panel = 0) const {
    return plain_ + head * plain_size_ + panel * kPanel * out_words_;
  }
  int64_t in_words() const { return in_words_; }
  int64_t out_words() const { return out_words_; }

 private:
  Buffer turned_memory_, plain_memory_;
  uint32_t *turned_ = nullptr, *plain_ = nullptr;
  int64_t turned_size_ = 0, plain_size_ = 0, in_words_ = 0, out_words_ = 0;
};

/// A block of tokens of several heads, packed.
class PackedTokens {
 public:
  /// Which forms are needed. With `scale` [heads, T] the panels hold token · scale.
  struct Needs {
    bool tiles, panels;
    const at::Tensor* scale = nullptr;
  };
  void pack(const HeadTokens& tokens, Range heads, Range block, kernels::Packing packing, Needs needs);

  /// `head` counts from the first of the packed ones.
  kernels::TokenForms forms(int64_t head) const;

 private:
  Buffer tiles_memory_, panels_memory_;
  uint32_t *tiles_ = nullptr, *panels_ = nullptr;
  int64_t tiles_size_ = 0, panels_size_ = 0, words_ = 0, panel_stride_ = 0;
};

/// Sums over tokens for matrices [heads, out, in]: in place where the sizes are whole panels, else beside
/// them, padded.
class PaddedSums {
 public:
  explicit PaddedSums(const at::Tensor& target);
  ~PaddedSums();
  PaddedSums(const PaddedSums&) = delete;

  float* row(int64_t head, int64_t row) const { return numbers_ + (head * rows_ + row) * columns_; }
  int64_t columns() const { return columns_; }

 private:
  at::Tensor target_, padded_;
  int64_t rows_, columns_;
  float* numbers_;
};

/// Calls body(heads, block) for groups of heads, just large enough to keep all cores busy with `pieces`
/// pieces of work per head, and blocks of tokens: what they pack should stay in the caches.
template <class Body>
void for_each_block(int64_t heads, int64_t pieces, Range tokens, const Body& body) {
  const int64_t wanted = 8 * num_workers();
  const int64_t group = std::min(heads, std::max<int64_t>(1, (wanted + pieces - 1) / pieces));
  for (int64_t head = 0; head < heads; head += group) {
    for (int64_t token = tokens.begin; token < tokens.end; token += kBlock) {
      body(Range{head, std::min(head + group, heads)}, Range{token, std::min(token + kBlock, tokens.end)});
    }
  }
}

/// Calls body(head, first token within the block, tokens) for slices of a block, on all cores.
template <class Body>
void for_each_slice(Range heads, Range block, const Body& body) {
  const int64_t slices = slices_of(block.size());
  for_each_item(heads.size() * slices, [&](int64_t item, int64_t) {
    const int64_t first = item % slices * kSlice;
    body(heads.begin + item / slices, first, std::min(kSlice, block.size() - first));
  });
}

}  // namespace lact::ops::fused
