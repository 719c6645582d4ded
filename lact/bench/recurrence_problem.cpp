#include "lact/bench/recurrence_problem.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "lact/ops/recurrences/delta_rule.h"
#include "lact/ops/recurrences/gla.h"
#include "lact/ops/recurrences/ssd.h"

namespace lact::bench {

namespace {

at::Tensor leaf_of(const at::Tensor& x) { return x.detach().contiguous().requires_grad_(true); }

/// From random numbers: gates as a model has them when its training begins.
at::Tensor gate_from(const std::string& rule, const at::Tensor& x) {
  if (rule == "gla") return at::log_sigmoid(x) / 16;
  if (rule == "ssd") return -at::softplus(x - 4.6).squeeze(3);
  return at::sigmoid(x).squeeze(3);
}

}  // namespace

std::string RecurrenceShape::name() const { return fmt::format("{} heads x {} x {}", heads, tokens, width); }

RecurrenceProblem::RecurrenceProblem(const RecurrenceShape& shape, at::ScalarType type) : shape(shape) {
  at::manual_seed(17);
  const auto draw = [&](int64_t width) { return at::randn({1, shape.heads, shape.tokens, width}); };
  q = leaf_of(draw(shape.width).to(type));
  const at::Tensor keys = draw(shape.width);
  k = leaf_of((keys / (keys.norm(2, -1, true) + 1e-5)).to(type));
  v = leaf_of(draw(shape.width).to(type));
  gate = leaf_of(gate_from(shape.rule, draw(shape.rule == "gla" ? shape.width : 1)));
  cotangent = draw(shape.width).to(type);
  state = at::zeros({1, shape.heads, shape.width, shape.width});
}

std::vector<at::Tensor> RecurrenceProblem::run(bool backward) const {
  const auto forward = [&] {
    const double scale = 1 / std::sqrt(double(shape.width));
    if (shape.rule == "gla") return ops::gla(q, k, v, gate, state, scale).out;
    if (shape.rule == "ssd") return ops::ssd(q, k, v, gate, state).out;
    return ops::delta_rule(q, k, v, gate, state, scale).out;
  };
  if (!backward) {
    at::NoGradGuard no_grad;
    return {forward()};
  }
  for (const auto* x : {&q, &k, &v, &gate}) x->mutable_grad() = at::Tensor();
  const at::Tensor out = forward();
  out.backward(cotangent);
  return {out.detach(), q.grad(), k.grad(), v.grad(), gate.grad()};
}

RecurrenceProblem RecurrenceProblem::widened() const {
  RecurrenceProblem copy = *this;
  for (auto* x : {&copy.q, &copy.k, &copy.v, &copy.gate}) *x = leaf_of(x->detach().to(at::kFloat).clone());
  copy.cotangent = cotangent.to(at::kFloat);
  return copy;
}

double recurrence_work(const RecurrenceShape& shape, bool backward) {
  const auto width = double(shape.width);
  const double state = width * width, chunk = 64 * width / 2;
  double products = shape.rule == "delta_rule" ? 3 * state + 4 * chunk : 2 * state + 2 * chunk;
  if (backward) products += shape.rule == "delta_rule" ? 6 * state + 13 * chunk : 4 * state + 5 * chunk;
  return 2 * double(shape.heads * shape.tokens) * products;
}

}  // namespace lact::bench
