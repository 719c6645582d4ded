// Attention of one query over keys and values that a stream has kept, as in decoding: k and v are read once,
// for all heads, and their bytes are what it costs. They are kept as float32, bfloat16, or bytes with one
// scale for each row of a head.
//
// What a query has seen so far is a maximum of its scores, and sums of weights and weighted values below it,
// for every head: two such sums of different keys can be joined, so that several workers may share the keys.
#pragma once

#include <cstdint>

#include "lact/kernels/isa.h"

namespace lact::kernels {

/// Tokens [T][heads][width]. Of bytes: number = scale · byte, with scales [T][heads].
struct KeptRows {
  const void* numbers;
  int64_t token_stride, head_stride;
  const float* scales;
  int64_t scale_stride;  ///< between tokens; heads lie side by side
};

/// One query of neighbouring heads. Scores are q · k · scale.
struct QueryHeads {
  const void* q;  ///< float32, or bfloat16 if `halves`; heads q_stride apart
  int64_t q_stride;
  bool halves;
  KeptRows k, v;
  int64_t count, width, value_width;
  float scale;
};

/// Where the result goes: rows of the type of q, out_stride apart, and unless null the logarithm to base 2 of
/// the sum of 2^(score · log2 e).
struct QueryResult {
  void* out;
  int64_t out_stride;
  float* log_sums;
  int64_t log_sums_stride;
};

struct AttentionQueryKernels {
  using AddKeys = void (*)(const QueryHeads& heads, int64_t begin, int64_t end, uint32_t* space);

  /// Words of a space that holds what was seen.
  int64_t (*space)(const QueryHeads& heads);
  void (*start)(const QueryHeads& heads, uint32_t* space);
  /// The keys [begin, end), in each of the forms.
  AddKeys f32, bf16, bytes;
  /// Adds what `other` has seen.
  void (*join)(const QueryHeads& heads, uint32_t* space, uint32_t* other);
  /// A query that has seen nothing gives zeros.
  void (*finish)(const QueryHeads& heads, uint32_t* space, const QueryResult& result);

  /// Rows of `width` numbers to bytes of -127 .. 127; a scale for each.
  void (*to_bytes)(const float* rows, int64_t count, int64_t width, int8_t* bytes, float* scales);
};

LACT_KERNEL_TABLE(AttentionQueryKernels, attention_query)

}  // namespace lact::kernels
