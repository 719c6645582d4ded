// Pictures of Gaussians against tile-wise PyTorch, forward and backward.
#include "lact/base/threads.h"
#include "lact/bench/areas.h"
#include "lact/bench/splat_problem.h"

namespace lact::bench {

namespace {

/// The forms of bench/peers/splat.py.
constexpr std::array<const char*, 3> kForms = {"16 logs", "8 logs", "8 cumprod"};

/// The worst tensor's |difference| / |expected|: of single pixels, those count whose α is within rounding of
/// 1/255.
double worst_norm_error(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected) {
  double worst = 0;
  for (size_t i = 0; i < found.size(); ++i) worst = std::max(worst, norm_error({found[i]}, {expected[i]}));
  return worst;
}

std::optional<double> measure_splat(Session& session, const SplatProblem& problem, bool backward, int threads,
                                    bool compare) {
  const int all_threads = threads_in_use();
  Trial trial;
  trial.row = {"splat", problem.shape.name(), fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"),
               backward ? "forward+backward" : "forward", "f32"};
  trial.error = [&] {
    std::vector<at::Tensor> expected;
    with_paths(false, [&] { expected = problem.run_window(backward); });
    return worst_norm_error(problem.run_window(backward), expected);
  };
  trial.tolerance = 1e-3;
  trial.run = [&] { problem.run(backward); };
  if (compare) {
    for (const char* form : kForms) {
      trial.forms.push_back({"f32",
                             {{"op", "splat"},
                              {"gaussians", problem.shape.gaussians},
                              {"side", problem.shape.side},
                              {"backward", backward},
                              {"form", form}}});
    }
  }
  trial.memory = compare;
  use_threads(threads);
  const auto seconds = session.measure(trial).seconds;
  use_threads(all_threads);
  return seconds;
}

/// One thread alone, all of them, and all of them against PyTorch where asked for.
void measure_shape(Session& session, const SplatShape& shape, bool compare) {
  if (!session.wants(shape.name())) return;
  const SplatProblem problem(shape);
  const int all_threads = threads_in_use();
  for (const bool backward : {false, true}) {
    const auto all = measure_splat(session, problem, backward, all_threads, compare);
    if (!compare || all_threads == 1) continue;
    const auto one = measure_splat(session, problem, backward, 1, false);
    if (all && one)
      session.note(fmt::format("{} threads are {:.2f} times as fast", all_threads, *one / *all));
  }
}

}  // namespace

void bench_splat(Session& session) {
  if (session.quick()) return measure_shape(session, {500, 40}, true);
  measure_shape(session, {100'000, 400}, true);
  for (const int64_t gaussians : {25'000, 50'000, 200'000}) measure_shape(session, {gaussians, 400}, false);
  for (const int64_t side : {200, 800}) measure_shape(session, {100'000, side}, false);
}

}  // namespace lact::bench
