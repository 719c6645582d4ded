#include "lact/train/muon.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "lact/base/error.h"
#include "lact/ops/newton_schulz/newton_schulz.h"
#include "lact/train/ranges.h"

namespace lact::train {

void MuonOptions::check() const {
  LACT_CHECK(momentum >= 0 && momentum < 1, "[train] muon_momentum is {}, expected 0 to below 1", momentum);
  check_range("muon_size", size, 1e-6, 1000);
}

bool is_for_muon(const std::string& name, const at::Tensor& parameter) {
  constexpr int64_t kFewestRows = 16;
  return parameter.dim() >= 2 && std::min(parameter.size(-2), parameter.size(-1)) >= kFewestRows &&
         (name.starts_with("block") || name.find(".block") != std::string::npos);
}

void muon_step(at::Tensor parameter, at::Tensor momentum, const at::Tensor& gradient, double rate,
               const MuonOptions& options) {
  momentum.lerp_(gradient, 1 - options.momentum);
  const at::Tensor ahead = gradient.lerp(momentum, options.momentum);
  // An iteration that stops after five rough steps needs no more than bfloat16 products.
  const at::Tensor direction = ops::newton_schulz(ahead.to(at::kBFloat16), {}).to(parameter.scalar_type());
  const double longer = double(std::max(parameter.size(-2), parameter.size(-1)));
  parameter.sub_(direction, rate * options.size * std::sqrt(longer));
}

}  // namespace lact::train
