#include "lact/kernels/row_steps.h"

#include "lact/kernels/simd.h"

namespace lact::kernels::LACT_ISA {

namespace {

/// Σ value(lane offset, how many lanes)
template <class Value>
LACT_INLINE float sum_over(int64_t columns, const Value& value) {
  Vec total = {};
  int64_t i = 0;
  for (; i + kLanes <= columns; i += kLanes) total += value(i, int64_t(kLanes));
  if (i < columns) total += value(i, columns - i);
  return sum(total);
}
template <class Body>
LACT_INLINE void for_lanes(int64_t columns, const Body& body) {
  int64_t i = 0;
  for (; i + kLanes <= columns; i += kLanes) body(i, int64_t(kLanes));
  if (i < columns) body(i, columns - i);
}
LACT_INLINE Vec read(const float* from, int64_t count) {
  return count >= kLanes ? load(from) : load_some(from, count);
}
LACT_INLINE void write(float* to, Vec value, int64_t count) {
  if (count >= kLanes) return store(to, value);
  store_some(to, value, count);
}

/// |x|, also of numbers whose squares leave the range of float32.
LACT_INLINE float norm_of(const float* x, int64_t columns) {
  const float squares = sum_over(columns, [&](int64_t i, int64_t count) {
    const Vec value = read(x + i, count);
    return value * value;
  });
  if (squares > 1e-30f && squares < 1e30f) return __builtin_sqrtf(squares);
  double precise = 0;
  for (int64_t i = 0; i < columns; ++i) precise += double(x[i]) * double(x[i]);
  return float(__builtin_sqrt(precise));
}

void norms(const float* x, int64_t rows, int64_t columns, float* norm) {
  for (int64_t r = 0; r < rows; ++r) norm[r] = norm_of(x + r * columns, columns);
}

void step(const RowStep& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const int64_t first = r * s.columns;
    float* moved = (s.moved != nullptr ? s.moved : s.weight) + first;
    for_lanes(s.columns, [&](int64_t i, int64_t count) {
      write(moved + i, read(s.stored + first + i, count) + read(s.step + first + i, count), count);
    });
    s.norm[r] = norm_of(moved, s.columns);
    const float factor = s.target[r] / (s.norm[r] + s.epsilon);
    for_lanes(s.columns, [&](int64_t i, int64_t count) {
      write(s.weight + first + i, read(moved + i, count) * factor, count);
    });
  }
}

// W = Z n / (r + ε) with r = |Z|:  dZ = dW n / (r + ε) - Z t n / ((r + ε)² r),  dn = t / (r + ε),  t = Σ dW
// Z. Z is not kept: it is W (r + ε) / n. Where n = 0, W does not depend on Z, and |w| = 0 has no direction to
// pass on.
void step_backward(const RowStepBackward& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const int64_t first = r * s.columns;
    const float whole = s.norm[r] + s.epsilon;
    const float unscale = s.target[r] > 0 ? whole / s.target[r] : 0;
    const float along =
        unscale * sum_over(s.columns, [&](int64_t i, int64_t count) {
          return read(s.weight_gradient + first + i, count) * read(s.weight + first + i, count);
        });
    s.target_gradient[r] = whole > 0 ? along / whole : 0;
    const float straight = whole > 0 ? s.target[r] / whole : 0;
    const float inward = s.norm[r] > 0 ? unscale * (along / whole) * (straight / s.norm[r]) : 0;
    for_lanes(s.columns, [&](int64_t i, int64_t count) {
      Vec value =
          read(s.weight_gradient + first + i, count) * straight - read(s.weight + first + i, count) * inward;
      if (s.moved_gradient != nullptr) value += read(s.moved_gradient + first + i, count);
      write(s.result + first + i, value, count);
    });
  }
}

}  // namespace

extern const RowStepKernels row_steps;
const RowStepKernels row_steps = {step, step_backward, norms};

}  // namespace lact::kernels::LACT_ISA
