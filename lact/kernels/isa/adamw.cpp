#include "lact/kernels/adamw.h"

#include "lact/kernels/number_lanes.h"
#include "lact/kernels/row_loop.h"

namespace lact::kernels {
namespace {

void step(const AdamWStep& step, float* parameter, const float* gradient, float* mean, float* square,
          int64_t count) {
  over_row(count, [&](int64_t i, int lanes) {
    const Vec g = read(gradient + i, lanes) * step.gradient_factor;
    const Vec old_mean = read(mean + i, lanes);
    const Vec new_mean = old_mean + (g - old_mean) * step.mean_rate;
    const Vec new_square = read(square + i, lanes) * step.square_keep + g * g * step.square_rate;
    const Vec size = square_root(new_square * step.square_scale) + step.epsilon;
    write(mean + i, new_mean, lanes);
    write(square + i, new_square, lanes);
    write(parameter + i, read(parameter + i, lanes) * step.keep - new_mean / size * step.rate, lanes);
  });
}

typedef double Doubles __attribute__((vector_size(8 * kLanes)));

double sum_of_squares(const float* x, int64_t count) {
  constexpr int kChains = 4;  // additions that do not wait for each other
  Doubles sums[kChains] = {};
  const auto add = [&](Doubles & sum, Vec value) __attribute__((always_inline)) {
    const Doubles wide = __builtin_convertvector(value, Doubles);
    sum = sum + wide * wide;
  };
  int64_t i = 0;
  for (; i + kChains * kLanes <= count; i += kChains * kLanes) {
    for (int chain = 0; chain < kChains; ++chain) add(sums[chain], load(x + i + chain * kLanes));
  }
  over_row(count - i, [&](int64_t j, int lanes) { add(sums[0], read(x + i + j, lanes)); });
  const Doubles all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double total = 0;
  for (int lane = 0; lane < kLanes; ++lane) total += all[lane];
  return total;
}

}  // namespace

namespace LACT_ISA {
extern const AdamWKernels adamw;
const AdamWKernels adamw = {step, sum_of_squares};
}  // namespace LACT_ISA
}  // namespace lact::kernels
