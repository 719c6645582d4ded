// Softmax attention over windows, tile by tile: scores exist only as tiles of one worker, and one number per
// query, the logarithm of its sum of weights, is all that the backward pass needs besides inputs and output.
#pragma once

#include <cstdint>

#include "lact/kernels/isa.h"

namespace lact::kernels {

/// Rows of numbers, `stride` apart: one head of a tensor [T, H, D].
struct HeadRows {
  const void* numbers;
  int64_t stride;
};
struct HeadOutput {
  void* numbers;
  int64_t stride;
};

/// Query i sees the keys j with begin <= j < end and i + oldest <= j <= i + newest. i and j count rows.
struct VisibleRows {
  int64_t begin, end;
  int64_t oldest, newest;
};

/// One head of one sequence. Scores are q · k · scale.
struct AttentionHead {
  HeadRows q, k, v;
  int64_t width, value_width;
  float scale;
};

/// A piece of queries and what all of them see.
struct QueriesAndKeys {
  int64_t begin, end;
  const VisibleRows* ranges;
  int64_t num_ranges;
};

/// What the backward pass knows besides the head itself, per query.
struct AttentionBackwardInput {
  HeadRows out_gradient;
  const float* log_sums;      // of the forward pass
  const float* out_products;  // out · out_gradient
};

constexpr int64_t kQuerySlack = 32;

/// Gradients; a null pointer means that nobody wants it.
struct AttentionGradients {
  /// [queries + kQuerySlack][width rounded up to 32] from query first_query on; added to, and still to be
  /// multiplied by the scale. Zeros are added behind the last query.
  float* q_sums;
  int64_t first_query;
  HeadOutput k, v;
};

/// Every function works on one thread, in a space of its own of as many words as the function before it says.
struct AttentionForward {
  /// Writes rows [begin, end) of out and, unless null, of log_sums: log2 of the sum of 2^(score · log2 e).
  int64_t (*space)(const AttentionHead& head, int64_t queries, int64_t keys);
  void (*tiles)(const AttentionHead& head, const QueriesAndKeys& piece, HeadOutput out, float* log_sums,
                uint32_t* space);
};

struct AttentionBackward {
  /// products[i] = left[i] · right[i]
  void (*row_products)(HeadRows left, HeadRows right, int64_t rows, int64_t width, float* products);

  /// Keys [begin, end), with all pieces of queries: writes these rows of the gradients of k and v, adds to
  /// those of the queries.
  int64_t (*space)(const AttentionHead& head, int64_t keys);
  void (*key_block)(const AttentionHead& head, const AttentionBackwardInput& input, int64_t begin,
                    int64_t end, const QueriesAndKeys* pieces, int64_t num_pieces,
                    const AttentionGradients& gradients, uint32_t* space);

  /// to = scale · from, for rows of `width` numbers.
  void (*write_rows)(const float* from, int64_t from_stride, int64_t rows, int64_t width, float scale,
                     HeadOutput to);
};

/// float32; bfloat16 widened to float32; bfloat16 multiplied as pairs, which in tile registers takes widths
/// that are multiples of kTileWidth.
constexpr int64_t kTileWidth = 32;
struct AttentionForwardKernels {
  AttentionForward f32, bf16, bf16_pairs;
};
struct AttentionBackwardKernels {
  AttentionBackward f32, bf16, bf16_pairs;
};

/// How many queries of a forward pass or keys of a backward pass a caller hands over at once, at best. More
/// queries pack their keys less often; packed keys and their sums have to stay in the cache of a core.
constexpr int64_t kQueriesAtOnce = 4096, kKeysAtOnce = 512;

LACT_TILE_KERNEL_TABLE(AttentionForwardKernels, attention_forward)
LACT_TILE_KERNEL_TABLE(AttentionBackwardKernels, attention_backward)

}  // namespace lact::kernels
