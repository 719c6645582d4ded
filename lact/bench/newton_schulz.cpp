// Newton-Schulz against the dense products that it consists of, as LibTorch multiplies them: what a perfect
// program without knowledge of symmetry could reach.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include "lact/bench/areas.h"
#include "lact/bench/work.h"
#include "lact/ops/newton_schulz/newton_schulz.h"

namespace lact::bench {

namespace {

struct MatrixShape {
  int64_t matrices, rows, cols;
  std::string name() const { return fmt::format("{}x {}x{}", matrices, rows, cols); }
};

std::vector<MatrixShape> matrix_shapes(bool quick) {
  if (quick) return {{3, 48, 48}, {2, 32, 64}};
  return {{12, 256, 256}, {12, 384, 384}, {3, 512, 512}, {3, 768, 1536}};
}

/// The products of five steps with nothing between them: 3 per step forward; backward 4 more with X and 2
/// more of the small side. Results are of no meaning.
struct DenseProducts {
  at::Tensor wide, tall, square;

  DenseProducts(const at::Tensor& x, at::ScalarType type)
      : wide(x.to(type)), tall(wide.transpose(-2, -1).contiguous()), square(at::matmul(wide, tall)) {}

  void run(bool backward) const {
    at::NoGradGuard no_grad;
    for (int step = 0; step < 5; ++step) {
      at::matmul(wide, tall);
      at::matmul(square, square);
      at::matmul(square, wide);
      if (!backward) continue;
      for (int i = 0; i < 2; ++i) {
        at::matmul(wide, tall);
        at::matmul(square, wide);
        at::matmul(square, square);
      }
    }
  }
};

std::vector<at::Tensor> orthogonalise(const at::Tensor& x, const at::Tensor& cotangent, bool backward) {
  if (!backward) {
    at::NoGradGuard no_grad;
    return {ops::newton_schulz(x, {})};
  }
  const at::Tensor leaf = x.detach().requires_grad_(true);
  const at::Tensor out = ops::newton_schulz(leaf, {});
  out.backward(cotangent);
  return {out.detach(), leaf.grad()};
}

void measure_newton_schulz(Session& session, const MatrixShape& shape, const std::string& precision,
                           bool backward) {
  at::manual_seed(17);
  const at::Tensor x = at::randn({shape.matrices, shape.rows, shape.cols}).to(type_of(precision));
  const at::Tensor cotangent = at::randn_like(x);
  Trial trial;
  trial.row = {"newton-schulz", shape.name(), "", backward ? "forward+backward" : "forward", precision};
  trial.error = [&] {
    std::vector<at::Tensor> expected;
    with_paths(false,
               [&] { expected = orthogonalise(x.to(at::kFloat), cotangent.to(at::kFloat), backward); });
    return largest_error(orthogonalise(x, cotangent, backward), expected);
  };
  trial.tolerance = precision == "bf16" ? 0.15 : 1e-2;
  trial.run = [&] { orthogonalise(x, cotangent, backward); };
  trial.reference = trial.run;
  trial.work = double(shape.matrices) * newton_schulz_work(shape.rows, shape.cols, 5,
                                                           backward ? Pass::forward_backward : Pass::forward);
  trial.limit = precision == "bf16" ? session.machine().limits.peak() : session.machine().limits.f32;
  const DenseProducts bf16(x, at::kBFloat16), f32(x, at::kFloat);
  trial.rivals = {{"bf16", [&] { bf16.run(backward); }}, {"f32", [&] { f32.run(backward); }}};
  session.measure(trial);
  session.note("x: against the dense products alone, multiplied by LibTorch");
}

}  // namespace

void bench_newton_schulz(Session& session) {
  for (const MatrixShape& shape : matrix_shapes(session.quick())) {
    if (!session.wants(shape.name())) continue;
    for (const char* precision : {"bf16", "f32"}) {
      for (const bool backward : {false, true}) measure_newton_schulz(session, shape, precision, backward);
    }
  }
}

}  // namespace lact::bench
