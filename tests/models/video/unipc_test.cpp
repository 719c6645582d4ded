#include "lact/models/video/unipc.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/models/video/euler.h"
#include "support/errors.h"

namespace lact::models {
namespace {

/// Data that are normal with mean m and deviation s: noise z flows to the clean sample m + s z along
/// x(sigma) = (1 - sigma) m + z sqrt((1 - sigma)² s² + sigma²).
struct NormalFlow {
  at::Tensor mean = at::tensor({0.7, -1.3, 2.0, 0.1}, at::kDouble);
  at::Tensor deviation = at::tensor({0.4, 1.5, 0.2, 0.9}, at::kDouble);
  at::Tensor noise = at::tensor({1.1, -0.3, 0.8, -2.0}, at::kDouble);

  at::Tensor at_level(double sigma) const { return (1 - sigma) * mean + noise * spread(sigma).sqrt(); }
  at::Tensor velocity(const at::Tensor& sample, double sigma) const {
    const at::Tensor offset = (sample - (1 - sigma) * mean) / spread(sigma);
    return (sigma - (1 - sigma) * deviation.square()) * offset - mean;
  }
  at::Tensor spread(double sigma) const {
    return (1 - sigma) * (1 - sigma) * deviation.square() + sigma * sigma;
  }
};

/// The error at the end of the levels, with velocities at the very levels and not at whole time steps.
double error_of(Solver& solver) {
  const NormalFlow flow;
  at::Tensor sample = flow.at_level(solver.sigmas().front());
  while (!solver.done())
    sample = solver.step(flow.velocity(sample, solver.sigmas()[size_t(solver.position())]), sample);
  return (sample - flow.at_level(solver.sigmas().back())).abs().max().item<double>();
}

std::vector<double> even_levels(int64_t steps, double first, double last) {
  std::vector<double> levels;
  for (int64_t i = 0; i <= steps; ++i) levels.push_back(first + (last - first) * double(i) / double(steps));
  return levels;
}

template <class Method>
double order_of(int64_t steps, double first, double last) {
  Method coarse(even_levels(steps, first, last)), fine(even_levels(2 * steps, first, last));
  return std::log2(error_of(coarse) / error_of(fine));
}

TEST(Solvers, ConvergeAtTheirOrder) {
  EXPECT_NEAR(order_of<EulerSolver>(80, 0.95, 0.1), 1, 0.1);
  EXPECT_NEAR(order_of<UniPcSolver>(80, 0.95, 0.1), 2, 0.15);
}

TEST(Solvers, ConvergeFromNoiseToTheCleanSample) {
  for (const double shift : {1.0, 3.0}) {
    const auto order = [&](auto make) {
      auto coarse = make(40), fine = make(160);
      return std::log2(error_of(coarse) / error_of(fine)) / 2;
    };
    EXPECT_GT(order([&](int64_t steps) { return UniPcSolver(unipc_sigmas(steps, shift)); }), 1.7) << shift;
    EXPECT_GT(order([&](int64_t steps) { return EulerSolver(euler_sigmas(steps, shift)); }), 0.8) << shift;
  }
  UniPcSolver unipc(unipc_sigmas(20, 3));
  EulerSolver euler(euler_sigmas(20, 3));
  EXPECT_LT(4 * error_of(unipc), error_of(euler));
}

TEST(Solvers, AConstantVelocityIsSolvedExactly) {
  for (const auto kind : {SolverKind::unipc, SolverKind::euler}) {
    const auto solver = make_solver({.solver = kind, .steps = 7});
    // All noise flows to one point: x = (1 - sigma) clean + sigma noise.
    const at::Tensor clean = at::randn({2, 3}, at::kDouble), noise = at::randn({2, 3}, at::kDouble);
    const double first = solver->sigmas().front();
    at::Tensor sample = (1 - first) * clean + first * noise;
    while (!solver->done()) sample = solver->step(noise - clean, sample);
    EXPECT_TRUE(at::allclose(sample, clean, 1e-9, 1e-9));
  }
}

// In the logarithm l of signal / noise the exact solution is x_t = s_t / s_s x_s + s_t int e^l clean(l) dl,
// and the corrector of order 2 follows it for predictions that are quadratic in l. The predictor and the
// corrector of order 1 are -a_t (e^-h - 1) (clean + half of a difference), as in the paper.
TEST(Solvers, UniPcTakesTheStepsOfThePaper) {
  const std::vector<double> levels = {0.9, 0.7, 0.55, 0.3, 0.1};
  std::vector<double> l, h = {0}, predictions;
  for (const double level : levels) l.push_back(std::log((1 - level) / level));
  for (size_t i = 1; i < l.size(); ++i) h.push_back(l[i] - l[i - 1]);
  const auto prediction = [](double place) { return 0.4 - 0.7 * place + 0.3 * place * place; };
  for (const double place : l) predictions.push_back(prediction(place));
  const auto& m = predictions;
  const auto advance = [&](size_t to, double from, double direction) {
    return levels[to] / levels[to - 1] * from - (1 - levels[to]) * std::expm1(-h[to]) * direction;
  };
  const auto exact = [&](size_t to, double from) {
    constexpr int kParts = 20000;
    double integral = 0;
    for (int i = 0; i < kParts; ++i) {
      const double place = l[to - 1] + h[to] * (i + 0.5) / kParts;
      integral += std::exp(place) * prediction(place) * h[to] / kParts;
    }
    return levels[to] / levels[to - 1] * from + levels[to] * integral;
  };
  const double first = 1.3;
  std::vector<double> expected = {advance(1, first, m[0])};
  const double corrected1 = advance(1, first, m[0] + 0.5 * (m[1] - m[0]));
  expected.push_back(advance(2, corrected1, m[1] + 0.5 * (m[0] - m[1]) / (-h[1] / h[2])));
  const double corrected2 = exact(2, corrected1);
  expected.push_back(advance(3, corrected2, m[2] + 0.5 * (m[1] - m[2]) / (-h[2] / h[3])));
  const double corrected3 = exact(3, corrected2);
  expected.push_back(advance(4, corrected3, m[3]));  // the last step is of order 1

  UniPcSolver solver(levels);
  at::Tensor sample = at::tensor({first}, at::kDouble);
  for (size_t i = 0; i < expected.size(); ++i) {
    sample = solver.step((sample - m[i]) / levels[i], sample);
    EXPECT_NEAR(sample.item<double>(), expected[i], 1e-7) << i;
  }
}

TEST(Solvers, SayWhichTimeComesNext) {
  const auto unipc = make_solver({.steps = 4, .shift = 3});
  EXPECT_EQ(unipc->steps(), 4);
  EXPECT_EQ(unipc->timestep(), 999);
  EXPECT_EQ(unipc->sigmas().back(), 0);
  const auto euler = make_solver({.solver = SolverKind::euler, .steps = 4, .shift = 3});
  EXPECT_EQ(euler->timestep(), 1000);
  const std::vector<double> expected = {1, 0.9, 0.75, 0.5, 0};
  ASSERT_EQ(euler->sigmas().size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(euler->sigmas()[i], expected[i], 1e-12);
  euler->step(at::zeros({1}), at::zeros({1}));
  EXPECT_EQ(euler->position(), 1);
  EXPECT_DOUBLE_EQ(euler->timestep(), 900);
}

TEST(Solvers, OneStepGoesToThePredictionOfTheCleanSample) {
  for (const auto kind : {SolverKind::unipc, SolverKind::euler}) {
    const auto solver = make_solver({.solver = kind, .steps = 1});
    const at::Tensor sample = at::randn({3}, at::kDouble), velocity = at::randn({3}, at::kDouble);
    const at::Tensor clean = solver->step(velocity, sample);
    EXPECT_TRUE(at::allclose(clean, sample - solver->sigmas()[0] * velocity));
    EXPECT_TRUE(solver->done());
  }
}

TEST(Solvers, MistakesAreSentences) {
  EXPECT_SENTENCE(make_solver({.steps = 0}), "steps is 0, expected 1 to 1000");
  EXPECT_SENTENCE(make_solver({.shift = -2}), "shift is -2");
  EXPECT_SENTENCE(UniPcSolver({1, 0}), "UniPC needs one below 1");
  EXPECT_SENTENCE(EulerSolver({0.5, 0.6}), "noise level 1 is 0.6");
  EXPECT_SENTENCE(EulerSolver({0.5}), "1 noise levels");
  EulerSolver solver({1, 0});
  EXPECT_SENTENCE(solver.step(at::zeros({2}), at::zeros({3})),
                  "a velocity of shape [2] for a sample of shape [3]");
  solver.step(at::zeros({3}), at::zeros({3}));
  EXPECT_SENTENCE(solver.step(at::zeros({3}), at::zeros({3})), "all 1 steps are taken");
}

}  // namespace
}  // namespace lact::models
