#include "lact/train/peak.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>

namespace lact::train {

double measured_peak(at::ScalarType type) {
  constexpr int64_t kSide = 1024;
  at::NoGradGuard no_grad;
  const at::Tensor a = at::ones({kSide, kSide}, type), b = at::ones({kSide, kSide}, type);
  at::Tensor out = at::mm(a, b);
  double best = 0;
  for (int i = 0; i < 8; ++i) {
    const auto start = std::chrono::steady_clock::now();
    at::mm_out(out, a, b);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 2.0 * kSide * kSide * kSide / seconds);
  }
  return best;
}

}  // namespace lact::train
