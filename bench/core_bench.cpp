// How long the reference form of the core takes, forward and forward + backward, in float32. A shape whose
// answer is wrong prints no speed. Figures are matrix-multiply operations per second, by the paper's count.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include "cases/ttt_cases.h"
#include "lact/base/threads.h"
#include "lact/models/common/cost.h"
#include "lact/ops/windows.h"

namespace lact {
namespace {

/// Operations of one forward pass of the case.
double flops(const cases::TttCase& c) {
  const double state = 3.0 * double(c.heads * c.width * c.hidden);
  const double updates = std::ceil(double(c.tokens) / double(c.chunk));
  const double muon =
      c.muon ? 5 * 3 * models::newton_schulz_flops(c.hidden, c.width) * double(c.heads) * updates : 0;
  return 6 * state * double(c.tokens) + muon;
}

void scan(benchmark::State& state, const cases::TttCase& c, bool backward) {
  if (const double error = cases::float32_error(c); !(error < 1e-3)) {
    state.SkipWithError(("wrong answer: error " + std::to_string(error)).c_str());
    return;
  }
  auto problem = cases::make_problem(c, at::kFloat);
  for (auto& weight : problem.weights) weight.requires_grad_(backward);
  for (auto* x : {&problem.inputs.q, &problem.inputs.k, &problem.inputs.v}) x->requires_grad_(backward);
  for (auto _ : state) {
    const at::Tensor out = run(problem);
    if (backward) out.sum().backward();
    benchmark::DoNotOptimize(out.data_ptr());
  }
  state.counters["flop/s"] =
      benchmark::Counter(flops(c) * (backward ? 3 : 1), benchmark::Counter::kIsIterationInvariantRate);
}

void window(benchmark::State& state, int64_t tokens, int64_t width, int64_t heads) {
  at::NoGradGuard no_grad;
  const at::Tensor x = at::randn({1, tokens, heads, 64});
  const auto sliding = ops::sliding_window({0, tokens}, width);
  for (auto _ : state) benchmark::DoNotOptimize(ops::window_attention(x, x, x, sliding).data_ptr());
  state.counters["flop/s"] = benchmark::Counter(4.0 * double(tokens * width * heads) * 64,
                                                benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace
}  // namespace lact

int main(int argc, char** argv) {
  lact::use_threads(0);
  for (const auto& c : lact::cases::large_ttt_cases()) {
    for (const bool backward : {false, true}) {
      const std::string name = "ttt/" + c.name + (backward ? "/forward+backward" : "/forward");
      benchmark::RegisterBenchmark(name.c_str(), lact::scan, c, backward)
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    }
  }
  benchmark::RegisterBenchmark("window_attention/8192 window 2048, 4 heads/forward", lact::window, 8192, 2048,
                               4)
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
