#include "lact/kernels/gelu.h"

#include "lact/kernels/row_loop.h"

namespace lact::kernels {
namespace {

/// gelu(x) = x/2 (1 + tanh(a (x + b x³))) = x σ(2 a (x + b x³)), a = √(2/π), b = 0.044715, and its
/// derivative. Beyond ±20 they are x and 1, or 0 and 0, to float32; the bound keeps x³ in range.
struct Gelu {
  LACT_INLINE explicit Gelu(Vec x) {
    bounded = select(x < -20.f, splat(-20.f), select(x > 20.f, splat(20.f), x));  // NaN stays NaN
    constexpr float kLinear = 1.5957691216f, kCubic = kLinear * 0.044715f;
    const Vec square = bounded * bounded;
    const Vec inner = bounded * (kLinear + kCubic * square);
    share = sigmoid(select(inner < -87.f, splat(-87.f), inner));
    inner_slope = kLinear + 3.f * kCubic * square;
    value = x * share;
  }
  /// σ + x σ (1 - σ) · (inner)'
  LACT_INLINE Vec slope() const { return share + bounded * share * (1.f - share) * inner_slope; }
  Vec bounded, share, inner_slope, value;
};

template <class Number>
void forward(const GeluForward& task, int64_t begin, int64_t end) {
  RowWalk inputs(task.x_rows, begin), results(task.y_rows, begin);
  for (int64_t row = begin; row < end; ++row, inputs.next(), results.next()) {
    const Number* x = at<Number>(task.x, inputs);
    Number* y = at<Number>(task.y, results);
    over_row(task.width, [&](int64_t i, int count) { write(y + i, Gelu(read(x + i, count)).value, count); });
  }
}

template <class Number>
void backward(const GeluBackward& task, int64_t begin, int64_t end) {
  RowWalk inputs(task.x_rows, begin), incoming(task.dy_rows, begin), results(task.dx_rows, begin);
  for (int64_t row = begin; row < end; ++row, inputs.next(), incoming.next(), results.next()) {
    const Number *x = at<Number>(task.x, inputs), *dy = at<Number>(task.dy, incoming);
    Number* dx = at<Number>(task.dx, results);
    over_row(task.width, [&](int64_t i, int count) {
      write(dx + i, read(dy + i, count) * Gelu(read(x + i, count)).slope(), count);
    });
  }
}

void run_forward(const GeluForward& task, int64_t begin, int64_t end) {
  return task.bf16 ? forward<uint16_t>(task, begin, end) : forward<float>(task, begin, end);
}
void run_backward(const GeluBackward& task, int64_t begin, int64_t end) {
  return task.bf16 ? backward<uint16_t>(task, begin, end) : backward<float>(task, begin, end);
}

}  // namespace

namespace LACT_ISA {
extern const GeluKernels gelu;
const GeluKernels gelu = {run_forward, run_backward};
}  // namespace LACT_ISA
}  // namespace lact::kernels
