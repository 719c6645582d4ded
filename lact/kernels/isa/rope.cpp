#include "lact/kernels/rope.h"

#include "lact/kernels/row_loop.h"

namespace lact::kernels {
namespace {

template <class Number>
LACT_INLINE void turn_halves(const Number* x, Number* y, int64_t half, const float* cos, const float* sin,
                             float sign) {
  over_row(half, [&](int64_t i, int count) {
    const Vec a = read(x + i, count), b = read(x + half + i, count);
    const Vec c = read(cos + i, count), s = read(sin + i, count) * sign;
    write(y + i, a * c - b * s, count);
    write(y + half + i, a * s + b * c, count);
  });
}

#if defined(__AVX512F__)
#define LACT_LANES(macro)                                                                             \
  macro(0), macro(1), macro(2), macro(3), macro(4), macro(5), macro(6), macro(7), macro(8), macro(9), \
      macro(10), macro(11), macro(12), macro(13), macro(14), macro(15)
#elif defined(__AVX2__)
#define LACT_LANES(macro) macro(0), macro(1), macro(2), macro(3), macro(4), macro(5), macro(6), macro(7)
#else
#define LACT_LANES(macro) macro(0), macro(1), macro(2), macro(3)
#endif
#define LACT_PARTNER(lane) (lane ^ 1)
#define LACT_FIRST_TWICE(lane) (lane / 2)
#define LACT_LAST_TWICE(lane) (kLanes / 2 + lane / 2)
#define LACT_SIGN(lane) (lane % 2 == 0 ? -1.f : 1.f)

/// (a, b) cos + (-b, a) sin
LACT_INLINE Vec rotate(Vec pairs, Vec cos, Vec sin) {
  const Vec signs = {LACT_LANES(LACT_SIGN)};
  return pairs * cos + __builtin_shufflevector(pairs, pairs, LACT_LANES(LACT_PARTNER)) * (sin * signs);
}

template <class Number>
LACT_INLINE void turn_neighbours(const Number* x, Number* y, int64_t half, const float* cos, const float* sin,
                                 float sign) {
  int64_t i = 0;
  for (; i + kLanes <= half; i += kLanes) {
    const Vec c = load(cos + i), s = load(sin + i) * sign;
    store(y + 2 * i, rotate(load(x + 2 * i), __builtin_shufflevector(c, c, LACT_LANES(LACT_FIRST_TWICE)),
                            __builtin_shufflevector(s, s, LACT_LANES(LACT_FIRST_TWICE))));
    store(y + 2 * i + kLanes,
          rotate(load(x + 2 * i + kLanes), __builtin_shufflevector(c, c, LACT_LANES(LACT_LAST_TWICE)),
                 __builtin_shufflevector(s, s, LACT_LANES(LACT_LAST_TWICE))));
  }
  for (; i < half; ++i) {
    const float a = widen(x[2 * i]), b = widen(x[2 * i + 1]), s = sin[i] * sign;
    narrow(y + 2 * i, a * cos[i] - b * s);
    narrow(y + 2 * i + 1, a * s + b * cos[i]);
  }
}

template <class Number, bool Neighbours>
void turn_rows(const RopeTask& task, int64_t begin, int64_t end) {
  const int64_t half = task.width / 2;
  const float sign = task.back ? -1 : 1;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t batch = row / task.tokens, token = row % task.tokens;
    const Number* x =
        static_cast<const Number*>(task.x) + batch * task.batch_stride + token * task.token_stride;
    Number* y = static_cast<Number*>(task.y) + row * task.heads * task.width;
    const float *cos = task.cos + token * half, *sin = task.sin + token * half;
    for (int64_t head = 0; head < task.heads; ++head, x += task.head_stride, y += task.width) {
      if constexpr (Neighbours) {
        turn_neighbours(x, y, half, cos, sin, sign);
      } else {
        turn_halves(x, y, half, cos, sin, sign);
      }
    }
  }
}

void run(const RopeTask& task, int64_t begin, int64_t end) {
  if (task.bf16) {
    return task.neighbours ? turn_rows<uint16_t, true>(task, begin, end)
                           : turn_rows<uint16_t, false>(task, begin, end);
  }
  return task.neighbours ? turn_rows<float, true>(task, begin, end)
                         : turn_rows<float, false>(task, begin, end);
}

}  // namespace

namespace LACT_ISA {
extern const RopeKernels rope;
const RopeKernels rope = {run};
}  // namespace LACT_ISA
}  // namespace lact::kernels
