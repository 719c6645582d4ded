#include "lact/tasks/nvs/splatting/relocation.h"

#include <algorithm>
#include <cmath>

namespace lact::tasks::nvs {

Relocation relocate(double opacity, int64_t copies) {
  const int64_t count = std::clamp<int64_t>(copies, 1, kMostCopies);
  const double each = 1 - std::pow(1 - opacity, 1 / double(count));
  // Σ_(i=1..n) Σ_(k=0..i-1) binom(i-1, k) (-1)^k each^(k+1) / sqrt(k+1), and Σ_i binom(i-1, k) = binom(n,
  // k+1)
  double sum = 0, term = 1;
  for (int64_t k = 0; k < count; ++k) {
    term *= each * double(count - k) / double(k + 1);  // binom(n, k+1) each^(k+1)
    sum += (k % 2 == 0 ? term : -term) / std::sqrt(double(k + 1));
  }
  return {each, sum > 0 ? opacity / sum : 1};
}

}  // namespace lact::tasks::nvs
