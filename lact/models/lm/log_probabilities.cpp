#include "lact/models/lm/log_probabilities.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "lact/base/error.h"

namespace lact::models {

LogProbabilities log_probabilities(const at::Tensor& logits, int64_t chosen, int64_t count) {
  LACT_CHECK(logits.dim() == 1 && chosen >= 0 && chosen < logits.size(0) && count >= 0,
             "[generate] token {} and the {} likeliest of logits of shape {}", chosen, count,
             logits.sizes().vec());
  const at::Tensor wide = logits.to(at::kCPU, at::kFloat).contiguous();
  const float* values = wide.data_ptr<float>();
  const double highest = double(*std::max_element(values, values + wide.numel()));
  double total = 0;
  for (int64_t i = 0; i < wide.numel(); ++i) total += std::exp(double(values[i]) - highest);
  const double norm = highest + std::log(total);
  const auto log_probability = [&](int64_t token) { return float(double(values[token]) - norm); };

  LogProbabilities result = {log_probability(chosen), {}};
  std::vector<int64_t> order(size_t(wide.numel()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = int64_t(i);
  const auto end = order.begin() + std::min<int64_t>(count, wide.numel());
  std::partial_sort(order.begin(), end, order.end(), [&](int64_t a, int64_t b) {
    return values[a] != values[b] ? values[a] > values[b] : a < b;
  });
  for (auto token = order.begin(); token != end; ++token) {
    result.likeliest.emplace_back(*token, log_probability(*token));
  }
  return result;
}

}  // namespace lact::models
