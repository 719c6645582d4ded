// Newton-Schulz orthogonalisation, the heart of Muon (paper, "Details of Muon"): for G = U S Vᵀ it returns
// about U Vᵀ.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace lact::ops {

/// fixed: (3.4445, -4.7750, 2.0315) at every step, the paper's.
/// variable: the authors' language-model code, five triples; fewer steps take the first ones, further steps
/// repeat the last.
enum class Coefficients { fixed, variable };
constexpr std::array<std::pair<Coefficients, std::string_view>, 2> enum_names(Coefficients) {
  return {{{Coefficients::fixed, "fixed"}, {Coefficients::variable, "variable"}}};
}

/// input: iterate in the dtype of G (at least float32). bfloat16: as the authors' published functions do.
enum class IterationType { input, bfloat16 };
constexpr std::array<std::pair<IterationType, std::string_view>, 2> enum_names(IterationType) {
  return {{{IterationType::input, "input"}, {IterationType::bfloat16, "bfloat16"}}};
}

struct NewtonSchulzOptions {
  int64_t steps = 5;
  Coefficients coefficients = Coefficients::fixed;
  IterationType iteration_type = IterationType::input;
  double epsilon = 1e-7;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("steps", steps, "iterations; 0 only divides by the Frobenius norm");
    field("coefficients", coefficients, "fixed (paper) or variable (one triple per step)");
    field("iteration_type", iteration_type, "precision of the iteration: input or bfloat16");
    field("epsilon", epsilon, "added to the Frobenius norm");
  }
  bool operator==(const NewtonSchulzOptions&) const = default;
};

/// The triple (a, b, c) of a step, counted from 0.
std::array<double, 3> newton_schulz_coefficients(Coefficients coefficients, int64_t step);

/// G [..., rows, cols], every matrix by itself, square, wide or tall; same shape and dtype out.
at::Tensor newton_schulz(const at::Tensor& gradient, const NewtonSchulzOptions& options);

namespace reference {
at::Tensor newton_schulz(const at::Tensor& gradient, const NewtonSchulzOptions& options);
}

/// Float32 and bfloat16 matrices on a processor, with a backward pass of its own; the running iterate is
/// float32.
namespace fused {
bool fits(const at::Tensor& gradient, const NewtonSchulzOptions& options);
at::Tensor newton_schulz(const at::Tensor& gradient, const NewtonSchulzOptions& options);

/// How the passes multiply: operands as pairs of bfloat16 (sums and the running iterate stay float32) or
/// float32, and the type in which iterates are kept for the backward pass.
struct NewtonSchulzPrecision {
  bool pairs = false;
  at::ScalarType kept = at::kFloat;
};

/// The two passes by themselves, for callers with a backward pass of their own. gradient [matrices, rows,
/// cols] float32.
struct NewtonSchulzPass {
  at::Tensor result;
  at::Tensor iterates;  ///< [matrices, steps, m, n] with m <= n; undefined unless kept
};
NewtonSchulzPass newton_schulz_forward(const at::Tensor& gradient, const NewtonSchulzOptions& options,
                                       const NewtonSchulzPrecision& precision, bool keep);

/// The gradient for `gradient`; without iterates the forward pass runs again.
at::Tensor newton_schulz_backward(const at::Tensor& gradient, const at::Tensor& iterates,
                                  const at::Tensor& result_gradient, const NewtonSchulzOptions& options,
                                  const NewtonSchulzPrecision& precision);
}  // namespace fused

}  // namespace lact::ops
