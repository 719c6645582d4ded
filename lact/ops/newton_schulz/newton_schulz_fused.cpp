// Newton-Schulz on a processor. Of the symmetric products half the blocks are computed and mirrored; the
// running iterate is float32 whatever the products read. Where there are many matrices each stays in the
// cache of one core through all steps; where there are few, all cores share every product.
#include <ATen/ATen.h>
#include <torch/autograd.h>

#include <cmath>

#include "lact/kernels/products.h"
#include "lact/ops/dispatch/work_items.h"
#include "lact/ops/newton_schulz/newton_schulz.h"

namespace lact::ops::fused {

namespace {

using kernels::Packing;
using Triple = std::array<double, 3>;

constexpr int64_t kPanel = 32;

/// One core works through a loop by itself, or all cores share it.
struct Alone {
  template <class Body>
  void operator()(int64_t count, const Body& body) const {
    for (int64_t i = 0; i < count; ++i) body(i);
  }
};
struct Together {
  template <class Body>
  void operator()(int64_t count, const Body& body) const {
    for_each_item(count, [&](int64_t item, int64_t) { body(item); });
  }
};

/// Buffers for one matrix at a time, m <= n, both padded to whole panels.
class Workspace {
 public:
  Workspace(int64_t m, int64_t n, bool pairs, bool backward)
      : m_(kernels::round_up_to(m, kPanel)),
        n_(kernels::round_up_to(n, kPanel)),
        packing_(pairs ? Packing::pairs : Packing::singles),
        x(numbers(m_ * n_)),
        gram(numbers(m_ * m_)),
        polynomial(numbers(m_ * m_)),
        x_transposed(words(m_, n_)),
        x_panels(words(m_, n_)),
        gram_panels(words(m_, m_)),
        x_tiles(tiles(m_, n_)),
        square_tiles(tiles(m_, m_)),
        polynomial_tiles(tiles(m_, m_)) {
    if (!backward) return;
    y = numbers(m_ * n_), mixed = numbers(m_ * m_), symmetric = numbers(m_ * m_), y_panels = words(m_, n_);
  }

  int64_t m() const { return m_; }
  int64_t n() const { return n_; }
  Packing packing() const { return packing_; }

 private:
  static at::Tensor numbers(int64_t count) { return at::empty({count}, at::kFloat); }
  at::Tensor words(int64_t rows, int64_t columns) const {
    return at::empty({rows * kernels::words_for(packing_, columns)}, at::kInt);
  }

  at::Tensor tiles(int64_t rows, int64_t columns) const {
    return at::empty({kernels::tile_form_words(packing_, rows, columns)}, at::kInt);
  }

  int64_t m_, n_;
  Packing packing_;

 public:
  at::Tensor x, gram, polynomial, x_transposed, x_panels, gram_panels;
  at::Tensor x_tiles, square_tiles, polynomial_tiles;
  at::Tensor y, mixed, symmetric, y_panels;
};

float* numbers(const at::Tensor& buffer) { return buffer.data_ptr<float>(); }
uint32_t* words(const at::Tensor& buffer) { return reinterpret_cast<uint32_t*>(buffer.data_ptr<int32_t>()); }

/// The steps of one matrix.
template <class Loop>
class Iteration {
 public:
  explicit Iteration(Workspace& space) : space_(space), m_(space.m()), n_(space.n()) {}

  /// X ← a X + (b A + c A²) X
  void forward(const Triple& abc) {
    make_polynomial(abc);
    loop_(n_ / kPanel, [&](int64_t p) {
      float* c = numbers(space_.x) + p * kPanel;
      kernels_.panel_product(packing(), words(space_.polynomial_tiles), panel(space_.x_panels, p, m_),
                             depth(m_), m_, {c, n_, 1, float(abc[0]), c, n_});
    });
  }

  /// Y ← a Y + P Y + T X  with  H = Y Xᵀ,  S = H + Hᵀ,  T = b S + c (S A + A S)
  void backward(const Triple& abc) {
    const auto [a, b, c] = abc;
    make_polynomial(abc);
    const uint32_t* y_tiles = pack_tiles(space_.y, m_, n_, space_.x_tiles);
    loop_(n_ / kPanel, [&](int64_t p) { pack_panel(space_.y, p, m_, n_, space_.y_panels); });
    multiply(y_tiles, n_, space_.x_transposed, space_.mixed);
    add_transposed(space_.mixed, 1, 0);
    const uint32_t* symmetric_tiles = pack_tiles(space_.symmetric, m_, m_, space_.square_tiles);
    multiply(symmetric_tiles, m_, space_.gram_panels, space_.mixed);
    add_transposed(space_.mixed, c, b);
    const uint32_t* t_tiles = pack_tiles(space_.symmetric, m_, m_, space_.square_tiles);
    loop_(n_ / kPanel, [&](int64_t p) {
      float* y = numbers(space_.y) + p * kPanel;
      kernels_.panel_product(packing(), words(space_.polynomial_tiles), panel(space_.y_panels, p, m_),
                             depth(m_), m_, {y, n_, 1, float(a), y, n_});
      kernels_.panel_product(packing(), t_tiles, panel(space_.x_panels, p, m_), depth(m_), m_,
                             {y, n_, 1, 1, y, n_});
    });
  }

 private:
  Packing packing() const { return space_.packing(); }
  int64_t depth(int64_t columns) const { return kernels::words_for(packing(), columns); }

  const uint32_t* panel(const at::Tensor& panels, int64_t p, int64_t columns) const {
    return words(panels) + p * kPanel * depth(columns);
  }

  void pack_panel(const at::Tensor& matrix, int64_t p, int64_t height, int64_t width,
                  const at::Tensor& panels) {
    kernels_.pack_panels(packing(), {numbers(matrix) + p * kPanel, width}, height, kPanel,
                         words(panels) + p * kPanel * depth(height), 0);
  }

  const uint32_t* pack_tiles(const at::Tensor& matrix, int64_t height, int64_t width,
                             const at::Tensor& tiles) {
    constexpr int64_t kRows = kernels::kTileUnit;
    loop_((height + kRows - 1) / kRows, [&](int64_t item) {
      const int64_t row = item * kRows;
      kernels_.pack_tiles(packing(), {numbers(matrix) + row * width, width}, std::min(kRows, height - row),
                          width, words(tiles) + row * depth(width));
    });
    return words(tiles);
  }

  /// C [m, m] = A B, all of it.
  void multiply(const uint32_t* a_tiles, int64_t columns, const at::Tensor& b_panels, const at::Tensor& c) {
    loop_(m_ / kPanel, [&](int64_t p) {
      kernels_.panel_product(packing(), a_tiles, panel(b_panels, p, columns), depth(columns), m_,
                             {numbers(c) + p * kPanel, m_});
    });
  }

  /// C = scale · A B + keep · base for a symmetric C: on and above the diagonal blocks, then mirrored.
  void multiply_symmetric(const uint32_t* a_tiles, int64_t columns, const at::Tensor& b_panels,
                          const at::Tensor& c, double scale, double keep, const at::Tensor& base) {
    const int64_t count = m_ / kPanel;
    loop_(count, [&](int64_t item) {
      const int64_t p = count - 1 - item;  // the longest first
      kernels_.panel_product(
          packing(), a_tiles, panel(b_panels, p, columns), depth(columns), (p + 1) * kPanel,
          {numbers(c) + p * kPanel, m_, float(scale), float(keep), numbers(base) + p * kPanel, m_});
    });
    loop_(count, [&](int64_t p) { kernels_.mirror(numbers(c), m_, p); });
  }

  /// S = scale · (H + Hᵀ) + keep · S
  void add_transposed(const at::Tensor& h, double scale, double keep) {
    float* s = numbers(space_.symmetric);
    loop_(m_ / kPanel,
          [&](int64_t p) { kernels_.add_transposed(numbers(h), m_, p, float(scale), s, float(keep), s); });
  }

  /// A = X Xᵀ, P = b A + c A², and the packed forms of X, A and P.
  void make_polynomial(const Triple& abc) {
    const uint32_t* x_tiles = pack_tiles(space_.x, m_, n_, space_.x_tiles);
    const int64_t transposed = m_ / kPanel;
    loop_(transposed + n_ / kPanel, [&](int64_t item) {
      if (item >= transposed) return pack_panel(space_.x, item - transposed, m_, n_, space_.x_panels);
      kernels_.pack_panels_transposed(packing(), {numbers(space_.x) + item * kPanel * n_, n_}, n_, kPanel,
                                      words(space_.x_transposed) + item * kPanel * depth(n_), 0);
    });
    multiply_symmetric(x_tiles, n_, space_.x_transposed, space_.gram, 1, 0, space_.gram);
    loop_(transposed, [&](int64_t p) { pack_panel(space_.gram, p, m_, m_, space_.gram_panels); });
    const uint32_t* gram_tiles = pack_tiles(space_.gram, m_, m_, space_.square_tiles);
    multiply_symmetric(gram_tiles, m_, space_.gram_panels, space_.polynomial, abc[2], abc[1], space_.gram);
    pack_tiles(space_.polynomial, m_, m_, space_.polynomial_tiles);
  }

  Workspace& space_;
  int64_t m_, n_;
  Loop loop_;
  const kernels::ProductKernels& kernels_ = kernels::products_kernels();
};

/// The numbers of a padded buffer that belong to the matrix, [m, n] or, for a tall one, seen from the other
/// side.
at::Tensor inside(const at::Tensor& buffer, const Workspace& space, const at::Tensor& like) {
  const bool tall = like.size(0) > like.size(1);
  const at::Tensor wide = buffer.view({space.m(), space.n()})
                              .narrow(0, 0, std::min(like.size(0), like.size(1)))
                              .narrow(1, 0, std::max(like.size(0), like.size(1)));
  return tall ? wide.t() : wide;
}

void fill(const at::Tensor& buffer, const Workspace& space, const at::Tensor& from) {
  if (from.numel() < buffer.numel()) buffer.zero_();
  inside(buffer, space, from).copy_(from);
}

/// Σ x y in float64: products of huge or tiny numbers neither overflow nor vanish.
double inner_product(const at::Tensor& x, const at::Tensor& y) {
  constexpr int64_t kSums = 8;
  const float *a = x.data_ptr<float>(), *b = y.data_ptr<float>();
  double sums[kSums] = {};
  const int64_t count = x.numel(), whole = count / kSums * kSums;
  for (int64_t i = 0; i < whole; i += kSums) {
    for (int64_t j = 0; j < kSums; ++j) sums[j] += double(a[i + j]) * double(b[i + j]);
  }
  for (int64_t i = whole; i < count; ++i) sums[0] += double(a[i]) * double(b[i]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

double norm_of(const at::Tensor& matrix) { return std::sqrt(inner_product(matrix, matrix)); }

at::Tensor wide_of(const at::Tensor& x) { return x.size(-2) > x.size(-1) ? x.transpose(-2, -1) : x; }

/// Leaves X after the last step in `space.x`; the iterates before each step go to `kept` [steps, m, n] if it
/// is defined.
template <class Loop>
void forward_matrix(const at::Tensor& gradient, const at::Tensor& kept, const NewtonSchulzOptions& options,
                    Workspace& space) {
  fill(space.x, space, gradient);
  space.x.mul_(1 / (norm_of(gradient) + options.epsilon));
  for (int64_t step = 0; step < options.steps; ++step) {
    if (kept.defined()) kept[step].copy_(wide_of(inside(space.x, space, gradient)));
    Iteration<Loop>(space).forward(newton_schulz_coefficients(options.coefficients, step));
  }
}

/// dG from the gradient of the result.
template <class Loop>
void backward_matrix(const at::Tensor& gradient, const at::Tensor& kept, const at::Tensor& result_gradient,
                     const NewtonSchulzOptions& options, Workspace& space, const at::Tensor& to) {
  fill(space.y, space, result_gradient);
  for (int64_t step = options.steps - 1; step >= 0; --step) {
    fill(space.x, space, kept[step]);
    Iteration<Loop>(space).backward(newton_schulz_coefficients(options.coefficients, step));
  }
  // X₀ = G / (|G| + ε)
  to.copy_(inside(space.y, space, gradient));
  const double norm = norm_of(gradient), whole = norm + options.epsilon;
  const double radial = norm > 0 ? inner_product(to, gradient) / norm / whole / whole : 0;
  float* result = to.data_ptr<float>();
  const float* g = gradient.data_ptr<float>();
  for (int64_t i = 0; i < to.numel(); ++i)
    result[i] = float(double(result[i]) / whole - radial * double(g[i]));
}

/// Runs body(matrix, space, loop) for every matrix.
template <class Body>
void for_each_matrix(const at::Tensor& gradient, bool pairs, bool backward, const Body& body) {
  const int64_t matrices = gradient.size(0), m = std::min(gradient.size(1), gradient.size(2)),
                n = std::max(gradient.size(1), gradient.size(2));
  // Small products are over before other cores have woken up.
  constexpr int64_t kSmall = 96;
  if (matrices >= 2 * num_workers() || matrices % num_workers() == 0 || m <= kSmall) {
    std::vector<std::unique_ptr<Workspace>> spaces(static_cast<size_t>(num_workers()));
    for_each_item(matrices, [&](int64_t matrix, int64_t worker) {
      at::NoGradGuard no_grad;
      auto& space = spaces[static_cast<size_t>(worker)];
      if (!space) space = std::make_unique<Workspace>(m, n, pairs, backward);
      body(matrix, *space, Alone{});
    });
    return;
  }
  Workspace space(m, n, pairs, backward);
  for (int64_t matrix = 0; matrix < matrices; ++matrix) body(matrix, space, Together{});
}

NewtonSchulzPrecision precision_for(const at::Tensor& matrices) {
  if (matrices.scalar_type() != at::kBFloat16) return {};
  return {kernels::multiplies_pairs(), at::kBFloat16};
}

struct NewtonSchulz : torch::autograd::Function<NewtonSchulz> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& gradient,
                            const NewtonSchulzOptions& options) {
    const at::Tensor matrices =
        gradient.reshape({-1, gradient.size(-2), gradient.size(-1)}).to(at::kFloat).contiguous();
    const auto [result, iterates] =
        newton_schulz_forward(matrices, options, precision_for(gradient), gradient.requires_grad());
    context->save_for_backward({matrices, iterates});
    context->saved_data["steps"] = options.steps;
    context->saved_data["coefficients"] = int64_t(options.coefficients);
    context->saved_data["epsilon"] = options.epsilon;
    return result.view(gradient.sizes()).to(gradient.scalar_type());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    NewtonSchulzOptions options;
    options.steps = context->saved_data["steps"].toInt();
    options.coefficients = Coefficients(context->saved_data["coefficients"].toInt());
    options.epsilon = context->saved_data["epsilon"].toDouble();
    const at::Tensor result = newton_schulz_backward(
        saved[0], saved[1], gradients[0].reshape(saved[0].sizes()).to(at::kFloat).contiguous(), options,
        precision_for(gradients[0]));
    return {result.view(gradients[0].sizes()).to(gradients[0].scalar_type()), at::Tensor()};
  }
};

}  // namespace

NewtonSchulzPass newton_schulz_forward(const at::Tensor& gradient, const NewtonSchulzOptions& options,
                                       const NewtonSchulzPrecision& precision, bool keep) {
  at::NoGradGuard no_grad;
  NewtonSchulzPass pass;
  pass.result = at::empty_like(gradient);
  if (keep) {
    const at::Tensor wide = wide_of(gradient);
    pass.iterates = at::empty({gradient.size(0), options.steps, wide.size(1), wide.size(2)},
                              gradient.options().dtype(precision.kept));
  }
  for_each_matrix(gradient, precision.pairs, false, [&](int64_t matrix, Workspace& space, auto loop) {
    const at::Tensor kept = keep ? pass.iterates[matrix] : at::Tensor();
    forward_matrix<decltype(loop)>(gradient[matrix], kept, options, space);
    pass.result[matrix].copy_(inside(space.x, space, gradient[matrix]));
  });
  return pass;
}

at::Tensor newton_schulz_backward(const at::Tensor& gradient, const at::Tensor& iterates,
                                  const at::Tensor& result_gradient, const NewtonSchulzOptions& options,
                                  const NewtonSchulzPrecision& precision) {
  at::NoGradGuard no_grad;
  at::Tensor result = at::empty_like(gradient);
  for_each_matrix(gradient, precision.pairs, true, [&](int64_t matrix, Workspace& space, auto loop) {
    const at::Tensor own = gradient[matrix];
    at::Tensor kept = iterates.defined() ? iterates[matrix] : at::Tensor();
    if (!kept.defined()) {
      const at::Tensor wide = wide_of(own);
      kept = at::empty({options.steps, wide.size(0), wide.size(1)}, own.options().dtype(precision.kept));
      forward_matrix<decltype(loop)>(own, kept, options, space);
    }
    backward_matrix<decltype(loop)>(own, kept, result_gradient[matrix], options, space, result[matrix]);
  });
  return result;
}

bool fits(const at::Tensor& gradient, const NewtonSchulzOptions& options) {
  return gradient.is_cpu() && gradient.numel() > 0 &&
         (gradient.scalar_type() == at::kFloat || gradient.scalar_type() == at::kBFloat16) &&
         options.iteration_type == IterationType::input;
}

at::Tensor newton_schulz(const at::Tensor& gradient, const NewtonSchulzOptions& options) {
  return NewtonSchulz::apply(gradient, options);
}

}  // namespace lact::ops::fused
