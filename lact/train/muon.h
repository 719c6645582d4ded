// Muon as the optimizer of training (Jordan et al., 2024), for matrices W [..., rows, cols] inside of a
// network:
//
//   M <- momentum M + (1 - momentum) G,   G' = (1 - momentum) G + momentum M   (Nesterov)
//   W <- W - rate * size * sqrt(max(rows, cols)) NewtonSchulz(G')
//
// An orthogonal matrix has numbers of about 1 / sqrt(max(rows, cols)), so that those of an update are about
// rate * size, whatever the shape; 0.2 is what AdamW's are, whose rates then fit (Liu et al., 2025).
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace lact::train {

struct MuonOptions {
  double momentum = 0.95;
  double size = 0.2;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("muon_momentum", momentum, "decay of the mean of gradients that Muon takes");
    field("muon_size", size, "root mean square of a step of Muon, as a multiple of the rate");
  }
  bool operator==(const MuonOptions&) const = default;

  /// Throws one sentence for values that cannot work.
  void check() const;
};

/// A matrix, or several, of a block: what embeds and what reads out is AdamW's, and so are vectors and the
/// few rows of rates and gates.
bool is_for_muon(const std::string& name, const at::Tensor& parameter);

/// One step without weight decay; `momentum` is M.
void muon_step(at::Tensor parameter, at::Tensor momentum, const at::Tensor& gradient, double rate,
               const MuonOptions& options);

}  // namespace lact::train
