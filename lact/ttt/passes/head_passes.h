// The fast-weight networks as passes over a few tokens of one head, without autograd: what one worker does in
// a loop over small chunks. All matrices of a head lie behind each other in float32, rows padded with zeros
// to whole panels of products. Blocks of tokens have at most kBlockRows rows.
#pragma once

#include <memory>
#include <vector>

#include "lact/kernels/inner_norm.h"
#include "lact/ops/recurrences/chunk_products.h"

namespace lact::ttt {
struct MatrixShape;
class FastWeightNetwork;
}  // namespace lact::ttt

namespace lact::ttt::fused {

using kernels::FloatRows;
using kernels::NumberRows;
using kernels::OutputRows;

constexpr int64_t kBlockRows = 2 * kernels::kTileUnit;

/// Where a matrix lies in the memory of its head. A bias [out, 1] has no padding.
struct MatrixPlace {
  int64_t rows = 0, columns = 0, stride = 0, offset = 0;

  int64_t size() const { return rows * stride; }
  FloatRows in(float* head) const { return {head + offset, stride}; }
  NumberRows in(const float* head) const { return {head + offset, stride}; }
};
std::vector<MatrixPlace> matrix_places(const FastWeightNetwork& network, int64_t in, int64_t hidden,
                                       int64_t out);

/// One pointer per matrix, to a number for each token of a block; null for a matrix that is not written.
using TokenNumbers = std::vector<float*>;

struct WrittenBlock {
  NumberRows k, v;
  int64_t rows;
  TokenNumbers rates;
};
struct BlockGradients {
  OutputRows k, v;
  bool add;            ///< to what stands there, in float32
  TokenNumbers rates;  ///< added to
};

class HeadPasses {
 public:
  virtual ~HeadPasses() = default;

  /// Packs a version of the weights, with `backward` also for the backward passes. The passes below use it
  /// until the next one, and the weights may change meanwhile.
  virtual void load(const float* weights, bool backward) = 0;

  /// out = f(x)
  virtual void read(NumberRows x, int64_t rows, OutputRows out) = 0;

  /// sums += Σ_t rate_t · (-∂L_t/∂W)
  virtual void descend(const WrittenBlock& block, float* sums) = 0;

  virtual void read_backward(NumberRows x, NumberRows out_gradient, int64_t rows, OutputRows x_gradient,
                             float* weight_gradients) = 0;

  /// Packs the gradients of the sums, for `descend_backward`.
  virtual void load_slopes(const float* sum_gradients) = 0;
  virtual void descend_backward(const WrittenBlock& block, const BlockGradients& gradients,
                                float* weight_gradients) = 0;
};

struct HeadPassesOptions {
  std::vector<MatrixPlace> places;
  bool residual;  ///< the negative gradient of f(k) is v - f(k); v otherwise
};
std::unique_ptr<HeadPasses> ttt_linear_passes(ops::fused::Bench& bench, const HeadPassesOptions& options);
std::unique_ptr<HeadPasses> ttt_mlp_passes(ops::fused::Bench& bench, const HeadPassesOptions& options);

}  // namespace lact::ttt::fused
