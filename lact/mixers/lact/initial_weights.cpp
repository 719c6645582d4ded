#include "lact/mixers/lact/initial_weights.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/nn/init.h"

namespace lact::ttt {

InitialWeights::InitialWeights(const std::vector<MatrixShape>& shapes, int64_t num_heads,
                               const InitialWeightsOptions& options) {
  LACT_CHECK(options.rank >= 0, "[initial_weights] rank is {}, expected 0 (full) or more", options.rank);
  const auto parameter = [&](const std::string& name, int64_t out, int64_t in, double gain) {
    at::Tensor tensor = register_parameter(name, at::empty({num_heads, out, in}));
    nn::init_fan_in(tensor, gain);
    return tensor;
  };
  for (const auto& [name, out, in, reads_tokens, fixed, initial] : shapes) {
    LACT_CHECK(out > 0 && in > 0, "[initial_weights] {} is {} x {}, expected at least 1 x 1", name, out, in);
    Matrix matrix;
    if (options.rank > 0 && reads_tokens) {
      matrix.left = parameter(name + "_left", out, options.rank, options.gain);
      matrix.right = parameter(name + "_right", options.rank, in, options.gain);
    } else if (initial) {
      matrix.full = register_parameter(name, at::full({num_heads, out, in}, *initial));
    } else {
      // The gain of a low-rank layer belongs to its factors; its full matrix keeps the plain rule.
      matrix.full = parameter(name, out, in, options.rank > 0 ? 1.0 : options.gain);
    }
    matrices_.push_back(std::move(matrix));
  }
}

Matrices InitialWeights::forward(int64_t batch) const {
  Matrices weights;
  for (const auto& [full, left, right] : matrices_) {
    at::Tensor weight = full;
    if (!full.defined()) {
      weight = at::matmul(left, right) + 0.5 * at::eye(left.size(1), right.size(2), left.options());
    }
    weights.push_back(weight.unsqueeze(0).expand({batch, -1, -1, -1}));
  }
  return weights;
}

}  // namespace lact::ttt
