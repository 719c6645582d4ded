// A fast-weight network: a small function f_W whose matrices W are trained while the sequence is read.
// A new one is one new file in networks/ that defines `const FastWeightNetwork& <file name>_network()`; the
// file's name is its name in configs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lact::ops::fused {
class Bench;
}

namespace lact::ttt {

namespace fused {
class FastWeightPasses;
struct NetworkSizes;
class HeadPasses;
struct HeadPassesOptions;
using MakeHeadPasses = std::unique_ptr<HeadPasses> (*)(ops::fused::Bench&, const HeadPassesOptions&);
}  // namespace fused

/// One tensor per matrix of a network, in the network's order: weights [B, H, out, in], rates [B, H, T, 1 or
/// in], ... A matrix that is never written has a weight and nothing else: the rest is undefined.
using Matrices = std::vector<at::Tensor>;

struct MatrixShape {
  std::string name;
  int64_t out = 0;
  int64_t in = 0;
  bool reads_tokens = true;                      ///< its input is the token itself, not a hidden layer
  bool fixed = false;                            ///< learned with the model and never written
  std::optional<double> initial = std::nullopt;  ///< what every element begins as; random without it
};

class FastWeightNetwork {
 public:
  virtual ~FastWeightNetwork() = default;

  /// Names and shapes of the matrices for tokens of width `in`, hidden width `hidden` and outputs of width
  /// `out`.
  virtual std::vector<MatrixShape> matrices(int64_t in, int64_t hidden, int64_t out) const = 0;

  /// Which matrix gives the output: the one that is written where only one is.
  virtual size_t output_matrix() const = 0;

  /// f_W(x): [B, H, T, in] -> [B, H, T, out].
  virtual at::Tensor apply(const Matrices& weights, const at::Tensor& x) const = 0;

  /// φ(x) [B, H, T, F] where f_W(x) = W φ(x) with W the output matrix, and φ made of the others; undefined
  /// where f has no such form.
  virtual at::Tensor features(const Matrices& weights, const at::Tensor& x) const;

  /// Σ_t rate_t · (-∂L_t/∂W) for each matrix, given negative_gradient = -∂L_t/∂f(k_t); undefined for a matrix
  /// whose rate is undefined.
  virtual Matrices descent(const Matrices& weights, const at::Tensor& k, const at::Tensor& negative_gradient,
                           const Matrices& rates) const = 0;

  /// Floating point operations per token of `descent`, in units of 2 · (elements of all matrices): how many
  /// times each matrix is multiplied on average. `apply` is 1 by definition.
  virtual double descent_passes() const = 0;

  /// The network's passes with a backward pass of their own, for processors; null if it has none: `apply` and
  /// `descent` are enough.
  virtual std::unique_ptr<fused::FastWeightPasses> passes(const fused::NetworkSizes& sizes, bool bf16) const;

  /// The same for small chunks: what makes the passes over the tokens of one head (passes/head_passes.h);
  /// null if there are none.
  virtual fused::MakeHeadPasses head_passes() const { return nullptr; }
};

/// Throws a sentence that lists the known names.
const FastWeightNetwork& network(const std::string& name);
std::vector<std::string> network_names();

}  // namespace lact::ttt
