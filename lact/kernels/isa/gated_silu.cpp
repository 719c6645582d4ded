#include "lact/kernels/gated_silu.h"

#include "lact/kernels/row_loop.h"

namespace lact::kernels {
namespace {

template <class Number>
void forward(const GatedSiluForward& task, int64_t begin, int64_t end) {
  RowWalk gates(task.gate_rows, begin), ups(task.up_rows, begin), results(task.y_rows, begin);
  for (int64_t row = begin; row < end; ++row, gates.next(), ups.next(), results.next()) {
    const Number *gate = at<Number>(task.gate, gates), *up = at<Number>(task.up, ups);
    Number* y = at<Number>(task.y, results);
    over_row(task.width, [&](int64_t i, int count) {
      write(y + i, Silu(read(gate + i, count)).value * read(up + i, count), count);
    });
  }
}

template <class Number>
void backward(const GatedSiluBackward& task, int64_t begin, int64_t end) {
  RowWalk gates(task.gate_rows, begin), ups(task.up_rows, begin), incoming(task.dy_rows, begin);
  RowWalk gate_results(task.dgate_rows, begin), up_results(task.dup_rows, begin);
  for (int64_t row = begin; row < end; ++row) {
    const Number *gate = at<Number>(task.gate, gates), *up = at<Number>(task.up, ups);
    const Number* dy = at<Number>(task.dy, incoming);
    Number *dgate = at<Number>(task.dgate, gate_results), *dup = at<Number>(task.dup, up_results);
    over_row(task.width, [&](int64_t i, int count) {
      const Silu silu(read(gate + i, count));
      const Vec gradient = read(dy + i, count);
      write(dup + i, gradient * silu.value, count);
      write(dgate + i, gradient * read(up + i, count) * silu.slope(), count);
    });
    gates.next(), ups.next(), incoming.next(), gate_results.next(), up_results.next();
  }
}

void run_forward(const GatedSiluForward& task, int64_t begin, int64_t end) {
  return task.bf16 ? forward<uint16_t>(task, begin, end) : forward<float>(task, begin, end);
}
void run_backward(const GatedSiluBackward& task, int64_t begin, int64_t end) {
  return task.bf16 ? backward<uint16_t>(task, begin, end) : backward<float>(task, begin, end);
}

}  // namespace

namespace LACT_ISA {
extern const GatedSiluKernels gated_silu;
const GatedSiluKernels gated_silu = {run_forward, run_backward};
}  // namespace LACT_ISA
}  // namespace lact::kernels
