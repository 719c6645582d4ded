// y = W x for a few tokens, at the speed at which W can be read: every number of W is used once for each
// token, so that nothing but its size matters. One row after the other: one stream from memory.
//
// Three forms of W [rows, width]:
//   float32;
//   bfloat16, rows padded with zeros to a multiple of kHalvesPad;
//   bytes, rows padded to a multiple of kByteGroup: W = scale · (byte - 128), with one scale for each group.
// Tokens are x [tokens][width], y is [tokens][rows] with tokens y_stride apart. The numbers of a token are
// added up in one order, however many tokens there are.
#pragma once

#include <cstdint>

#include "lact/kernels/isa.h"

namespace lact::kernels {

constexpr int64_t kHalvesPad = 32;
constexpr int64_t kByteGroup = 128;

struct WeightRows {
  int64_t count;
  int64_t width;  ///< with padding
};

/// Tokens as bytes: x = scale · byte, with one scale for each token and group.
struct ByteTokens {
  const int8_t* bytes;  ///< [tokens][width]
  const float* scales;  ///< [tokens][width / kByteGroup]
  const int32_t* sums;  ///< -128 · (the sum of the group's bytes)
};

struct GemvKernels {
  void (*singles)(const float* weight, WeightRows rows, const float* x, int64_t tokens, float* y,
                  int64_t y_stride);

  /// x in the order of `arrange`.
  void (*halves)(const uint16_t* weight, WeightRows rows, const float* x, int64_t tokens, float* y,
                 int64_t y_stride);

  /// x in bfloat16, in its own order: products of pairs.
  void (*pairs)(const uint16_t* weight, WeightRows rows, const uint16_t* x, int64_t tokens, float* y,
                int64_t y_stride);

  void (*bytes)(const uint8_t* weight, const float* scales, WeightRows rows, const ByteTokens& x,
                int64_t tokens, float* y, int64_t y_stride);

  /// One token of `width` channels, a multiple of kHalvesPad: even channels before odd ones, vector by
  /// vector, as they lie after a vector of bfloat16 was taken apart.
  void (*arrange)(const float* x, int64_t width, float* to);

  /// One token of `width` channels, a multiple of kByteGroup, to bytes of -127 .. 127.
  void (*quantize)(const float* x, int64_t width, int8_t* bytes, float* scales, int32_t* sums);
};

LACT_KERNEL_TABLE(GemvKernels, gemv)

}  // namespace lact::kernels
