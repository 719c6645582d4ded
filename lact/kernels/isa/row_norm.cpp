#include "lact/kernels/row_norm.h"

#include "lact/kernels/row_loop.h"

namespace lact::kernels {
namespace {

LACT_INLINE Vec read_or(const float* from, int64_t i, int count, float other) {
  return from != nullptr ? read(from + i, count) : splat(other);
}
LACT_INLINE void add_to(float* to, Vec value, int count) { write(to, read(to, count) + value, count); }

/// Beyond these sums of squares float32 has lost numbers to overflow or underflow.
constexpr float kLeastSquares = 1e-30f, kMostSquares = 1e37f;

/// Σ (x - mean)², again in float64 where float32 does not hold it.
template <class Number>
LACT_INLINE double squares_of(const Number* x, int64_t width, float mean) {
  Vec sums[2] = {};
  int64_t i = 0;
  for (; i + 2 * kLanes <= width; i += 2 * kLanes) {
    for (int j = 0; j < 2; ++j) {
      const Vec s = load(x + i + j * kLanes) - mean;
      sums[j] = sums[j] + s * s;
    }
  }
  float total = sum(sums[0] + sums[1]);
  for (; i + kLanes <= width; i += kLanes) {
    const Vec s = load(x + i) - mean;
    total += sum(s * s);
  }
  if (i < width) {
    const Vec s = load_some(x + i, width - i) - mean;
    for (int j = 0; j < int(width - i); ++j) total += s[j] * s[j];
  }
  if (total > kLeastSquares && total < kMostSquares) return total;
  double precise = 0;
  over_row(width, [&](int64_t first, int count) {
    const Vec s = read(x + first, count) - mean;
    for (int j = 0; j < count; ++j) precise += double(s[j]) * double(s[j]);
  });
  return precise;
}

template <class Number>
LACT_INLINE double mean_of(const Number* x, int64_t width) {
  Vec sums = {};
  over_row(width, [&](int64_t i, int count) { sums = sums + read(x + i, count); });
  const float total = sum(sums);
  if (total > -3e38f && total < 3e38f) return double(total) / double(width);
  double precise = 0;
  for (int64_t i = 0; i < width; ++i) precise += widen(x[i]);
  return precise / double(width);
}

/// What to subtract and multiply with; fills the row's statistics.
struct Scaling {
  float mean = 0, factor = 1;
};

template <RowNorm kind, class Number>
LACT_INLINE Scaling measure(const Number* x, int64_t width, double epsilon, float* statistics) {
  Scaling s;
  if constexpr (kind == RowNorm::none) return s;
  if constexpr (kind == RowNorm::layer) statistics[0] = s.mean = float(mean_of(x, width));
  const double squares = squares_of(x, width, s.mean);
  if constexpr (kind == RowNorm::rms || kind == RowNorm::layer) {
    s.factor = float(1 / __builtin_sqrt(squares / double(width) + epsilon));
    statistics[kind == RowNorm::layer] = s.factor;
  } else {
    const double length = __builtin_sqrt(squares);
    s.factor = float(1 / (length + epsilon));
    statistics[0] = float(length);
  }
  return s;
}

template <RowNorm kind, class From, class Number>
LACT_INLINE void forward_row(const RowNormForward& task, const From* x, Number* y, float* statistics) {
  const Scaling s = measure<kind>(x, task.width, task.epsilon, statistics);
  over_row(task.width, [&](int64_t i, int count) {
    Vec value = (read(x + i, count) - s.mean) * s.factor;
    if constexpr (kind != RowNorm::l2) {
      value = value * read_or(task.weight, i, count, 1) + read_or(task.bias, i, count, 0);
    }
    write(y + i, value, count);
  });
}

template <RowNorm kind, class Number>
void forward(const RowNormForward& task, int64_t begin, int64_t end) {
  alignas(64) float active[kind == RowNorm::silu_l2 ? kMostSiluWidth : 1];
  RowWalk x_walk(task.x_rows, begin), y_walk(task.y_rows, begin);
  for (int64_t row = begin; row < end; ++row, x_walk.next(), y_walk.next()) {
    const Number* x = static_cast<const Number*>(task.x) + x_walk.place();
    Number* y = static_cast<Number*>(task.y) + y_walk.place();
    float* statistics = task.statistics + row * row_norm_statistics(kind);
    if constexpr (kind == RowNorm::silu_l2) {
      over_row(task.width,
               [&](int64_t i, int count) { write(active + i, Silu(read(x + i, count)).value, count); });
      forward_row<RowNorm::l2>(task, active, y, statistics);
    } else {
      forward_row<kind>(task, x, y, statistics);
    }
  }
}

struct ChannelSums {
  float *dweight, *dbias;  ///< null if not wanted
};

// With g = dy ∘ weight, s = x - mean and f the factor:
//   none, rms, layer:  dx = f (g - mean(g)) - s f³ Σ(g s) / width    (mean(g) for layer only; no sum for
//   none) l2:                dx = f g - s f² Σ(g s) / length,  zero sum for length 0
// dx is then multiplied with the slopes of what made x, if there are any. A null dx is not wanted.
template <RowNorm kind, class From, class Number>
LACT_INLINE void backward_row(const RowNormBackward& task, const From* x, const Number* dy, Number* dx,
                              const float* statistics, const float* slopes, ChannelSums sums) {
  constexpr bool kLength = kind == RowNorm::l2;
  const float mean = kind == RowNorm::layer ? statistics[0] : 0;
  float factor = 1;
  if constexpr (kLength) factor = float(1 / (double(statistics[0]) + task.epsilon));
  if constexpr (kind == RowNorm::rms || kind == RowNorm::layer) factor = statistics[kind == RowNorm::layer];

  // Sums are taken of the normed row s f, which is never huge or tiny.
  float radial = 0, mean_gradient = 0;
  if constexpr (kind != RowNorm::none) {
    Vec along = {}, gradients = {};
    over_row(task.width, [&](int64_t i, int count) {
      Vec gradient = read(dy + i, count);
      if constexpr (!kLength) gradient = gradient * read_or(task.weight, i, count, 1);
      if constexpr (kind == RowNorm::layer) gradients = gradients + gradient;
      along = along + gradient * ((read(x + i, count) - mean) * factor);
    });
    if constexpr (kLength) {
      const double length = statistics[0];
      radial = length > 0 ? float(double(sum(along)) * (length + task.epsilon) / length) : 0;
    } else {
      radial = sum(along) / float(task.width);
      mean_gradient = sum(gradients) / float(task.width);
    }
  }
  over_row(task.width, [&](int64_t i, int count) {
    const Vec incoming = read(dy + i, count), normed = (read(x + i, count) - mean) * factor;
    if (sums.dweight != nullptr) add_to(sums.dweight + i, incoming * normed, count);
    if (sums.dbias != nullptr) add_to(sums.dbias + i, incoming, count);
    if (dx == nullptr) return;
    const Vec gradient = kLength ? incoming : incoming * read_or(task.weight, i, count, 1);
    Vec result = (gradient - mean_gradient - normed * radial) * factor;
    if (slopes != nullptr) result = result * read(slopes + i, count);
    write(dx + i, result, count);
  });
}

template <RowNorm kind, class Number>
void backward(const RowNormBackward& task, int64_t begin, int64_t end, float* dweight, float* dbias) {
  constexpr int64_t kScratch = kind == RowNorm::silu_l2 ? kMostSiluWidth : 1;
  alignas(64) float active[kScratch], slopes[kScratch];
  RowWalk x_walk(task.x_rows, begin), dy_walk(task.dy_rows, begin), dx_walk(task.dx_rows, begin);
  for (int64_t row = begin; row < end; ++row, x_walk.next(), dy_walk.next(), dx_walk.next()) {
    const Number* x = static_cast<const Number*>(task.x) + x_walk.place();
    const Number* dy = static_cast<const Number*>(task.dy) + dy_walk.place();
    Number* dx = task.dx != nullptr ? static_cast<Number*>(task.dx) + dx_walk.place() : nullptr;
    const float* statistics = task.statistics + row * row_norm_statistics(kind);
    if constexpr (kind == RowNorm::silu_l2) {
      over_row(task.width, [&](int64_t i, int count) {
        const Silu silu(read(x + i, count));
        write(active + i, silu.value, count);
        write(slopes + i, silu.slope(), count);
      });
      backward_row<RowNorm::l2>(task, active, dy, dx, statistics, slopes, {nullptr, nullptr});
    } else {
      backward_row<kind>(task, x, dy, dx, statistics, nullptr, {dweight, dbias});
    }
  }
}

template <class Number>
void forward_of(const RowNormForward& task, int64_t begin, int64_t end) {
  switch (task.kind) {
    case RowNorm::none:
      return forward<RowNorm::none, Number>(task, begin, end);
    case RowNorm::rms:
      return forward<RowNorm::rms, Number>(task, begin, end);
    case RowNorm::layer:
      return forward<RowNorm::layer, Number>(task, begin, end);
    case RowNorm::l2:
      return forward<RowNorm::l2, Number>(task, begin, end);
    case RowNorm::silu_l2:
      return forward<RowNorm::silu_l2, Number>(task, begin, end);
  }
}

template <class Number>
void backward_of(const RowNormBackward& task, int64_t begin, int64_t end, float* dweight, float* dbias) {
  switch (task.kind) {
    case RowNorm::none:
      return backward<RowNorm::none, Number>(task, begin, end, dweight, dbias);
    case RowNorm::rms:
      return backward<RowNorm::rms, Number>(task, begin, end, dweight, dbias);
    case RowNorm::layer:
      return backward<RowNorm::layer, Number>(task, begin, end, dweight, dbias);
    case RowNorm::l2:
      return backward<RowNorm::l2, Number>(task, begin, end, dweight, dbias);
    case RowNorm::silu_l2:
      return backward<RowNorm::silu_l2, Number>(task, begin, end, dweight, dbias);
  }
}

void run_forward(const RowNormForward& task, int64_t begin, int64_t end) {
  return task.bf16 ? forward_of<uint16_t>(task, begin, end) : forward_of<float>(task, begin, end);
}

void run_backward(const RowNormBackward& task, int64_t begin, int64_t end, float* dweight, float* dbias) {
  return task.bf16 ? backward_of<uint16_t>(task, begin, end, dweight, dbias)
                   : backward_of<float>(task, begin, end, dweight, dbias);
}

}  // namespace

namespace LACT_ISA {
extern const RowNormKernels row_norm;
const RowNormKernels row_norm = {run_forward, run_backward};
}  // namespace LACT_ISA
}  // namespace lact::kernels
