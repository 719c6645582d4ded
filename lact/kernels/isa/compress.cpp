#include "lact/kernels/compress.h"

#include "lact/kernels/gemv.h"
#include "lact/kernels/row_loop.h"

namespace lact::kernels::LACT_ISA {

namespace {

typedef uint8_t Bytes __attribute__((vector_size(kLanes)));
typedef uint8_t BytesAnywhere __attribute__((vector_size(kLanes), aligned(1), may_alias));

/// Numbers whose squares are summed in float32 before the sum goes on in double.
constexpr int64_t kTogether = 4096;

/// body(first, count) adds to vectors; their totals are summed in double.
template <class Body>
LACT_INLINE RoundingError summed(int64_t count, const Body& body) {
  RoundingError error;
  for (int64_t first = 0; first < count; first += kTogether) {
    Vec whole = {}, lost = {};
    const int64_t stop = first + kTogether < count ? first + kTogether : count;
    body(first, stop - first, whole, lost);
    error.whole += double(sum(whole));
    error.lost += double(sum(lost));
  }
  return error;
}

RoundingError halves(const float* from, int64_t count, uint16_t* to) {
  return summed(count, [&](int64_t first, int64_t numbers, Vec& whole, Vec& lost) {
    over_row(numbers, [&](int64_t i, int lanes) {
      const Vec value = read(from + first + i, lanes);
      const Bits rounded = round_to_bf16(value);
      write(to + first + i, value, lanes);
      const Vec off = (Vec)rounded - value;
      whole += value * value;
      lost += off * off;
    });
  });
}

template <class Number>
double squares(const Number* from, int64_t count) {
  return summed(count,
                [&](int64_t first, int64_t numbers, Vec& whole, Vec&) {
                  over_row(numbers, [&](int64_t i, int lanes) {
                    const Vec value = read(from + first + i, lanes);
                    whole += value * value;
                  });
                })
      .whole;
}

RoundingError bytes(const float* from, int64_t width, uint8_t* to, float* scales) {
  Vec whole = {}, lost = {};
  for (int64_t group = 0; group < width / kByteGroup; ++group, from += kByteGroup, to += kByteGroup) {
    Vec most = {};
    for (int i = 0; i < kByteGroup; i += kLanes) {
      const Vec value = load(from + i);
      most = maximum(most, maximum(value, -value));
      whole += value * value;
    }
    const float scale = largest(most) / 127, inverse = scale > 0 ? 1 / scale : 0;
    for (int i = 0; i < kByteGroup; i += kLanes) {
      const Vec value = load(from + i);
      // Adding 1.5 · 2^23 rounds to an integer, which then stands in the lowest bits.
      const Vec shifted = value * inverse + 12582912.f;
      const Vec off = (shifted - 12582912.f) * scale - value;
      *reinterpret_cast<BytesAnywhere*>(to + i) =
          __builtin_convertvector((Ints)shifted - (0x4b400000 - 128), Bytes);
      lost += off * off;
    }
    scales[group] = scale;
  }
  return {double(sum(whole)), double(sum(lost))};
}

}  // namespace

extern const CompressKernels compress;
const CompressKernels compress = {halves, bytes, squares<float>, squares<uint16_t>};

}  // namespace lact::kernels::LACT_ISA
