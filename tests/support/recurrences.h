// The linear recurrences under one name each, with random inputs and all of their gradients.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "lact/ops/recurrences/delta_rule.h"
#include "lact/ops/recurrences/gla.h"
#include "lact/ops/recurrences/paths.h"
#include "lact/ops/recurrences/ssd.h"
#include "support/gradients.h"

namespace lact::testing {

struct RecurrenceTensors {
  at::Tensor q, k, v, gate, state;
};
using Recurrence = std::function<ops::RecurrenceResult(const RecurrenceTensors&)>;

struct RecurrenceForms {
  std::string name;
  bool gate_per_channel, gate_is_log_decay;
  Recurrence own, chunked, reference;
};

inline std::vector<RecurrenceForms> recurrences() {
  const auto scale = [](const RecurrenceTensors& in) { return 1 / std::sqrt(double(in.q.size(3))); };
  const auto scaled = [=](auto function) -> Recurrence {
    return
        [=](const RecurrenceTensors& in) { return function(in.q, in.k, in.v, in.gate, in.state, scale(in)); };
  };
  const auto plain = [](auto function) -> Recurrence {
    return [=](const RecurrenceTensors& in) { return function(in.q, in.k, in.v, in.gate, in.state); };
  };
  return {
      {"gla", true, true, scaled(ops::gla), scaled(ops::chunked::gla), scaled(ops::reference::gla)},
      {"delta_rule", false, false, scaled(ops::delta_rule), scaled(ops::chunked::delta_rule),
       scaled(ops::reference::delta_rule)},
      {"ssd", false, true, plain(ops::ssd), plain(ops::chunked::ssd), plain(ops::reference::ssd)},
  };
}

struct RecurrenceSizes {
  int64_t tokens, width, value_width;
  int64_t heads = 2, batch = 1;
};

/// Keys of length 1; log decays of about -0.1 with some near 0 and some strong, betas from 0 to 2.
inline RecurrenceTensors recurrence_inputs(const RecurrenceForms& forms, const RecurrenceSizes& sizes,
                                           at::ScalarType type) {
  at::manual_seed(31);
  const auto draw = [&](int64_t width) { return randn({sizes.batch, sizes.heads, sizes.tokens, width}); };
  at::Tensor q = draw(sizes.width), k = draw(sizes.width), v = draw(sizes.value_width);
  k = k / k.norm(2, -1, true);
  at::Tensor gate = draw(forms.gate_per_channel ? sizes.width : 1);
  gate = forms.gate_is_log_decay ? -(gate.pow(4) * 0.03) : 2 * gate.sigmoid();
  if (!forms.gate_per_channel) gate = gate.squeeze(-1);
  const at::ScalarType wide = type == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor state = randn({sizes.batch, sizes.heads, sizes.width, sizes.value_width});
  return {q.to(type), k.to(type), v.to(type), gate.to(wide), state.to(wide)};
}

inline RecurrenceTensors widened(const RecurrenceTensors& in) {
  const auto wide = [](const at::Tensor& x) { return x.detach().to(at::kDouble); };
  return {wide(in.q), wide(in.k), wide(in.v), wide(in.gate), wide(in.state)};
}

/// Values and gradients, under these names.
struct RecurrenceValues {
  std::vector<at::Tensor> tensors;
  static constexpr const char* kNames[] = {"output",
                                           "state",
                                           "gradient of q",
                                           "gradient of k",
                                           "gradient of v",
                                           "gradient of the gate",
                                           "gradient of the state"};
};

/// The gradients are those of a fixed random weighting of output and state.
inline RecurrenceValues values_and_gradients(const Recurrence& recurrence, const RecurrenceTensors& in) {
  const auto leaf = [](const at::Tensor& x) { return x.detach().requires_grad_(true); };
  const RecurrenceTensors leaves = {leaf(in.q), leaf(in.k), leaf(in.v), leaf(in.gate), leaf(in.state)};
  const ops::RecurrenceResult result = recurrence(leaves);
  at::manual_seed(32);
  const at::Tensor out_weights = randn(result.out.sizes()).to(in.v.scalar_type());
  const at::Tensor state_weights = randn(result.state.sizes()).to(result.state.scalar_type());
  at::Tensor sum = (result.state * state_weights).sum().to(at::kDouble);
  if (result.out.requires_grad())
    sum = sum + (result.out.to(at::kDouble) * out_weights.to(at::kDouble)).sum();
  sum.backward();
  return {{result.out.detach(), result.state.detach(), leaves.q.grad(), leaves.k.grad(), leaves.v.grad(),
           leaves.gate.grad(), leaves.state.grad()}};
}

/// The inputs are numbers of about 1: a gradient much smaller than that (of a decay that leaves nothing) is a
/// difference of such numbers.
inline void expect_equal(const RecurrenceValues& own, const RecurrenceValues& expected, double tolerance,
                         const std::string& name, double smallest_scale = 0.1) {
  for (size_t i = 0; i < expected.tensors.size(); ++i) {
    const at::Tensor &x = own.tensors[i], &y = expected.tensors[i];
    const std::string what = name + ", " + RecurrenceValues::kNames[i];
    ASSERT_TRUE(x.defined() && x.sizes() == y.sizes()) << what;
    EXPECT_TRUE(at::isfinite(x).all().item<bool>()) << what;
    const double scale = std::max(smallest_scale, y.abs().max().item<double>());
    EXPECT_LT((x.to(at::kDouble) - y).abs().max().item<double>() / scale, tolerance) << what;
  }
}

}  // namespace lact::testing
