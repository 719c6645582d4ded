// The learned fast weights that a sequence starts from, one set per head: full matrices, or low rank plus
// half an identity, L·R + ½·I, to save parameters (paper, language model details).
#pragma once

#include <torch/nn/module.h>

#include "lact/ttt/network.h"

namespace lact::ttt {

struct InitialWeightsOptions {
  int64_t rank = 0;
  double gain = 1.0;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("rank", rank,
          "rank of the matrices that read tokens (gate, up); 0 is full rank. down is always full");
    field("gain", gain, "standard deviation is gain / sqrt(fan-in); 0.5 for the authors' low-rank weights");
  }
  bool operator==(const InitialWeightsOptions&) const = default;
};

class InitialWeights : public torch::nn::Module {
 public:
  InitialWeights(const std::vector<MatrixShape>& shapes, int64_t num_heads,
                 const InitialWeightsOptions& options);

  /// The matrices for a batch: [B, H, out, in] each, all samples the same.
  Matrices forward(int64_t batch) const;

 private:
  struct Matrix {
    at::Tensor full;         ///< [H, out, in], or
    at::Tensor left, right;  ///< [H, out, rank] and [H, rank, in]
  };
  std::vector<Matrix> matrices_;
};

}  // namespace lact::ttt
