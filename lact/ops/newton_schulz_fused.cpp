// Newton-Schulz of many small float32 matrices on a processor: each matrix stays in the cache of one core
// through all steps, forward and backward.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/autograd.h>

#include <cmath>
#include <vector>

#include "lact/kernels/small_matmul.h"
#include "lact/ops/newton_schulz.h"

namespace lact::ops::fused {

namespace {

using kernels::small_matmul;
using kernels::small_transpose;

/// Work space of one thread for matrices of m rows and n >= m columns.
struct Space {
  Space(int64_t m, int64_t n)
      : transposed(size_t(m * n)), gram(size_t(m * m)), polynomial(gram), outer(gram), mixed(gram) {}
  std::vector<float> transposed, gram, polynomial, outer, mixed;
};

/// A = X Xᵀ and P = b A + c A²
void make_polynomial(const float* x, int64_t m, int64_t n, double b, double c, Space& space) {
  small_transpose(x, space.transposed.data(), m, n);
  small_matmul(x, space.transposed.data(), space.gram.data(), m, m, n, 1, 0);
  space.polynomial = space.gram;
  small_matmul(space.gram.data(), space.gram.data(), space.polynomial.data(), m, m, m, float(c), float(b));
}

double norm_of(const float* x, int64_t count) {
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) squares += double(x[i]) * double(x[i]);
  return std::sqrt(squares);
}

/// iterates [steps + 1, matrices, m, n]: the first holds G on entry and X₀ on exit, the others X₁, X₂, ...
void run_forward(float* iterates, int64_t matrices, int64_t m, int64_t n,
                 const NewtonSchulzOptions& options) {
  const int64_t size = m * n;
  at::parallel_for(0, matrices, 1, [&](int64_t begin, int64_t end) {
    Space space(m, n);
    for (int64_t i = begin; i < end; ++i) {
      float* x = iterates + i * size;
      const auto shrink = float(1 / (norm_of(x, size) + options.epsilon));
      for (int64_t j = 0; j < size; ++j) x[j] *= shrink;
      for (int64_t step = 0; step < options.steps; ++step) {
        const auto [a, b, c] = newton_schulz_coefficients(options.coefficients, step);
        float* next = x + matrices * size;
        make_polynomial(x, m, n, b, c, space);
        std::copy(x, x + size, next);
        small_matmul(space.polynomial.data(), x, next, m, n, m, 1, float(a));
        x = next;
      }
    }
  });
}

/// dX from dY of one step, in place:  dX = a dY + P dY + (b H + c (A H + (A H)ᵀ)) X  with  H = dY Xᵀ + X dYᵀ.
void step_back(const float* x, float* gradient, float* result, int64_t m, int64_t n,
               const std::array<double, 3>& abc, Space& space) {
  const auto [a, b, c] = abc;
  make_polynomial(x, m, n, b, c, space);
  small_matmul(gradient, space.transposed.data(), space.mixed.data(), m, m, n, 1, 0);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < m; ++j)
      space.outer[size_t(i * m + j)] = space.mixed[size_t(i * m + j)] + space.mixed[size_t(j * m + i)];
  }
  std::copy(gradient, gradient + m * n, result);
  small_matmul(space.polynomial.data(), gradient, result, m, n, m, 1, float(a));
  small_matmul(space.gram.data(), space.outer.data(), space.mixed.data(), m, m, m, float(c), 0);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < m; ++j) {
      space.polynomial[size_t(i * m + j)] = float(b) * space.outer[size_t(i * m + j)] +
                                            space.mixed[size_t(i * m + j)] + space.mixed[size_t(j * m + i)];
    }
  }
  small_matmul(space.polynomial.data(), x, result, m, n, m, 1, 1);
  std::copy(result, result + m * n, gradient);
}

/// gradient [matrices, m, n]: dX of the last iterate on entry, dG on exit.
void run_backward(const float* input, const float* iterates, float* gradient, int64_t matrices, int64_t m,
                  int64_t n, const NewtonSchulzOptions& options) {
  const int64_t size = m * n;
  at::parallel_for(0, matrices, 1, [&](int64_t begin, int64_t end) {
    Space space(m, n);
    std::vector<float> result(static_cast<size_t>(size));
    for (int64_t i = begin; i < end; ++i) {
      float* own = gradient + i * size;
      for (int64_t step = options.steps - 1; step >= 0; --step) {
        step_back(iterates + (step * matrices + i) * size, own, result.data(), m, n,
                  newton_schulz_coefficients(options.coefficients, step), space);
      }
      // X₀ = G / (|G| + ε)
      const float* g = input + i * size;
      const double norm = norm_of(g, size), whole = norm + options.epsilon;
      double along = 0;
      for (int64_t j = 0; j < size; ++j) along += double(own[j]) * double(g[j]);
      const double pull = norm > 0 ? along / (norm * whole * whole) : 0;
      for (int64_t j = 0; j < size; ++j) own[j] = float(double(own[j]) / whole - pull * double(g[j]));
    }
  });
}

struct NewtonSchulz : torch::autograd::Function<NewtonSchulz> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& gradient,
                            const NewtonSchulzOptions& options) {
    const bool tall = gradient.size(-2) > gradient.size(-1);
    const at::Tensor wide = (tall ? gradient.transpose(-2, -1) : gradient).contiguous();
    const int64_t m = wide.size(-2), n = wide.size(-1), matrices = wide.numel() / (m * n);
    at::Tensor iterates = at::empty({options.steps + 1, matrices, m, n}, wide.options());
    iterates[0].copy_(wide.view({matrices, m, n}));
    run_forward(iterates.data_ptr<float>(), matrices, m, n, options);
    context->save_for_backward({wide, iterates});
    context->saved_data["tall"] = tall;
    context->saved_data["steps"] = options.steps;
    context->saved_data["coefficients"] = int64_t(options.coefficients);
    context->saved_data["epsilon"] = options.epsilon;
    const at::Tensor last = iterates[options.steps].view(wide.sizes()).clone();
    return tall ? last.transpose(-2, -1) : last;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &wide = saved[0], &iterates = saved[1];
    const bool tall = context->saved_data["tall"].toBool();
    NewtonSchulzOptions options;
    options.steps = context->saved_data["steps"].toInt();
    options.coefficients = Coefficients(context->saved_data["coefficients"].toInt());
    options.epsilon = context->saved_data["epsilon"].toDouble();
    at::Tensor result =
        (tall ? gradients[0].transpose(-2, -1) : gradients[0]).clone(at::MemoryFormat::Contiguous);
    run_backward(wide.data_ptr<float>(), iterates.data_ptr<float>(), result.data_ptr<float>(),
                 iterates.size(1), wide.size(-2), wide.size(-1), options);
    return {tall ? result.transpose(-2, -1) : result, at::Tensor()};
  }
};

/// Beyond this a matrix and its products leave the cache, and a BLAS is faster.
constexpr int64_t kLargest = 128;

}  // namespace

bool fits(const at::Tensor& gradient, const NewtonSchulzOptions& options) {
  return gradient.is_cpu() && gradient.scalar_type() == at::kFloat && gradient.numel() > 0 &&
         std::max(gradient.size(-2), gradient.size(-1)) <= kLargest &&
         options.iteration_type == IterationType::input;
}

at::Tensor newton_schulz(const at::Tensor& gradient, const NewtonSchulzOptions& options) {
  return NewtonSchulz::apply(gradient, options);
}

}  // namespace lact::ops::fused
