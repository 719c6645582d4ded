#include "lact/models/lm/sampling.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "lact/base/error.h"

namespace lact::models {

void SamplingOptions::check() const {
  LACT_CHECK(temperature >= 0 && std::isfinite(temperature),
             "[generate] temperature is {}, expected 0 or a positive number", temperature);
  LACT_CHECK(top_k >= 0, "[generate] top_k is {}, expected 0 or more", top_k);
  LACT_CHECK(top_p > 0 && top_p <= 1, "[generate] top_p is {}, expected more than 0 and at most 1", top_p);
  LACT_CHECK(repetition_penalty >= 0.01 && repetition_penalty <= 100,
             "[generate] repetition_penalty is {}, expected 0.01 to 100", repetition_penalty);
  LACT_CHECK(penalty_window >= 0, "[generate] penalty_window is {}, expected 0 or more", penalty_window);
}

namespace {

/// A logit of minus infinity is a token that cannot come. NaN and infinity have no likeliest token below
/// them: no order and no probabilities.
void check_logits(const std::vector<double>& logits) {
  const auto usable = [](double logit) { return logit < std::numeric_limits<double>::infinity(); };
  if (!std::all_of(logits.begin(), logits.end(), usable)) {
    throw NonFinite("[generate] the model's logits contain NaN or infinity");
  }
  if (std::none_of(logits.begin(), logits.end(), [](double logit) { return std::isfinite(logit); })) {
    throw NonFinite("[generate] the model gives no token a finite logit");
  }
}

}  // namespace

Sampler::Sampler(const SamplingOptions& options) : options_(options), random_(uint64_t(options.seed)) {
  options.check();
}

void Sampler::note(int64_t token) {
  recent_.push_back(token);
  if (int64_t(recent_.size()) > options_.penalty_window) recent_.pop_front();
}

int64_t Sampler::draw(const at::Tensor& all_logits) {
  const at::Tensor wide = all_logits.to(at::kCPU).to(at::kDouble).contiguous();
  std::vector<double> logits(wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel());
  if (options_.repetition_penalty != 1) {
    for (const int64_t token : std::set<int64_t>(recent_.begin(), recent_.end())) {
      double& logit = logits.at(size_t(token));
      logit = logit > 0 ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
    }
  }
  check_logits(logits);  // after the penalty, which may overflow
  std::vector<int64_t> order(logits.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = int64_t(i);
  const auto likelier = [&](int64_t a, int64_t b) {
    return logits[size_t(a)] != logits[size_t(b)] ? logits[size_t(a)] > logits[size_t(b)] : a < b;
  };
  if (options_.temperature == 0) return *std::min_element(order.begin(), order.end(), likelier);

  if (options_.top_k > 0 && options_.top_k < int64_t(order.size())) {
    std::nth_element(order.begin(), order.begin() + options_.top_k - 1, order.end(), likelier);
    order.resize(size_t(options_.top_k));
  }
  const double highest = logits[size_t(*std::min_element(order.begin(), order.end(), likelier))];
  const auto weight = [&](int64_t token) {
    return std::exp((logits[size_t(token)] - highest) / options_.temperature);
  };
  double total = 0;
  for (const int64_t token : order) total += weight(token);
  // The likeliest tokens first. Few of them are most of the probability: the rest need not be in order.
  double kept = 0;
  size_t count = 0, sorted = 0;
  std::vector<double> weights;
  while (count < order.size() && kept < options_.top_p * total) {
    if (count == sorted) {
      sorted = std::min(order.size(), std::max<size_t>(64, 8 * sorted));
      std::partial_sort(order.begin() + int64_t(count), order.begin() + int64_t(sorted), order.end(),
                        likelier);
    }
    weights.push_back(weight(order[count]));
    kept += weights[count++];
  }
  double place = random_.uniform() * kept;
  for (size_t i = 0; i < count; ++i) {
    place -= weights[i];
    if (place < 0) return order[i];
  }
  return order[count - 1];
}

}  // namespace lact::models
