#include "lact/kernels/token_loss.h"

#include "lact/kernels/row_loop.h"

namespace lact::kernels {
namespace {

/// Logits that stay in the nearest cache between the search for the largest and the sum.
constexpr int64_t kStretch = 1024;

struct Peak {
  float largest;
  bool all_numbers;
};

template <class Number>
LACT_INLINE Peak peak_of(const Number* logits, int64_t count, float so_far) {
  Vec most = splat(so_far);
  Ints odd = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec x = load(logits + i);
    most = maximum(x, most);
    odd |= x != x;
  }
  Peak peak = {largest(most), true};
  for (int lane = 0; lane < kLanes; ++lane) peak.all_numbers &= odd[lane] == 0;
  for (; i < count; ++i) {
    const float x = widen(logits[i]);
    peak.largest = x > peak.largest ? x : peak.largest;
    peak.all_numbers &= x == x;
  }
  return peak;
}

template <class Number>
LACT_INLINE float sum_exp(const Number* logits, int64_t count, float top) {
  Vec sums[2] = {};
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    sums[0] = sums[0] + exp(load(logits + i) - top);
    sums[1] = sums[1] + exp(load(logits + i + kLanes) - top);
  }
  float total = sum(sums[0] + sums[1]);
  for (; i < count; i += kLanes) {
    const int64_t left = count - i < kLanes ? count - i : kLanes;
    const Vec powers = exp(load_some(logits + i, left) - top);
    for (int64_t lane = 0; lane < left; ++lane) total += powers[lane];
  }
  return total;
}

// The sum so far is scaled down whenever a larger logit appears.
template <class Number>
void forward(const TokenLossTask& task, float* losses, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const Number* logits = static_cast<const Number*>(task.logits) + row * task.vocabulary;
    float top = -3.4e38f, total = 0;
    for (int64_t first = 0; first < task.vocabulary; first += kStretch) {
      const int64_t left = task.vocabulary - first, count = left < kStretch ? left : kStretch;
      const Peak peak = peak_of(logits + first, count, top);
      if (peak.largest > top) {
        total *= exp(splat(top - peak.largest))[0];
        top = peak.largest;
      }
      total += peak.all_numbers ? sum_exp(logits + first, count, top) : __builtin_nanf("");
    }
    task.statistics[2 * row] = top;
    task.statistics[2 * row + 1] = total;
    losses[row] = (top - widen(logits[task.targets[row]])) + __builtin_logf(total);
  }
}

template <class Number>
void backward(const TokenLossTask& task, const float* upstream, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    Number* logits = static_cast<Number*>(task.logits) + row * task.vocabulary;
    Number* target = logits + task.targets[row];
    const float top = task.statistics[2 * row], share = upstream[row] / task.statistics[2 * row + 1];
    const float at_target = exp(splat(widen(*target) - top))[0] * share - upstream[row];
    over_row(task.vocabulary, [&](int64_t i, int count) {
      write(logits + i, exp(read(logits + i, count) - top) * share, count);
    });
    narrow(target, at_target);
  }
}

void run_forward(const TokenLossTask& task, float* losses, int64_t begin, int64_t end) {
  return task.bf16 ? forward<uint16_t>(task, losses, begin, end) : forward<float>(task, losses, begin, end);
}
void run_backward(const TokenLossTask& task, const float* upstream, int64_t begin, int64_t end) {
  return task.bf16 ? backward<uint16_t>(task, upstream, begin, end)
                   : backward<float>(task, upstream, begin, end);
}

}  // namespace

namespace LACT_ISA {
extern const TokenLossKernels token_loss;
const TokenLossKernels token_loss = {run_forward, run_backward};
}  // namespace LACT_ISA
}  // namespace lact::kernels
