// Where a training step goes, part by part.
#include "lact/base/profile.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <map>

#include "lact/bench/areas.h"
#include "lact/bench/lm_problem.h"
#include "lact/bench/work.h"

namespace lact::bench {

namespace {

/// Of several steps the one that took the least time.
std::vector<profile::Part> fastest_step(const TrainStep& step, const at::Tensor& ids, int repeats) {
  std::vector<profile::Part> best;
  double least = 0;
  for (int i = 0; i < repeats + 1; ++i) {
    profile::start();
    const double seconds = seconds_of([&] { step(ids); });
    auto parts = profile::stop();
    if (i == 0 || seconds < least) best = std::move(parts), least = seconds;
  }
  return best;
}

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

/// A row for one pass of a part, kept if it took any time.
void add_row(Session& session, const Result& row, double seconds, double whole, double work, double peak) {
  if (seconds <= 0) return;
  Result result = row;
  result.seconds = seconds;
  if (work > 0) result.share_of_peak = work / seconds / peak;
  result.note = percent(seconds / whole) + " of the step";
  session.add(result);
}

}  // namespace

void bench_profile(Session& session, const MakeTrainStep& make_step) {
  const NamedConfig named = session.quick() ? quick_lm() : small_lm();
  const int64_t tokens = session.quick() ? 64 : 4096;
  const std::string shape = fmt::format("{} {}", named.name, tokens);
  const std::string precision = "bf16";
  if (!session.wants(shape)) return;
  const auto model = make_model(named.config);
  const at::Tensor ids = random_ids(named.config, tokens + 1);
  const double peak = session.machine().limits.peak();

  // The step as a whole first: it must be right, and it says how long it takes without being watched.
  const TrainStep step = make_step(model);
  Trial trial;
  trial.row = {"profile", shape, "whole step", "training step", precision};
  trial.error = [&] { return gradient_error(*model, ids, type_of(precision)); };
  trial.tolerance = lm_tolerance(type_of(precision));
  trial.run = [&] { step(ids); };
  const auto work = lm_work(named.config, tokens);
  trial.work = 3 * total(work);
  trial.limit = peak;
  model->set_compute_type(type_of(precision));
  if (session.measure(trial).wrong) return;

  std::vector<profile::Part> parts;
  with_paths(true, [&] { parts = fastest_step(step, ids, session.options().race.repeats); });
  double whole = 0;
  for (const auto& part : parts) whole += part.forward + part.backward;
  std::sort(parts.begin(), parts.end(),
            [](const auto& a, const auto& b) { return a.forward + a.backward > b.forward + b.backward; });
  for (const auto& part : parts) {
    const auto found = work.find(part.name);
    const double forward = found == work.end() ? 0 : found->second;
    const Result row = {"profile", shape, part.name, "forward", precision};
    add_row(session, row, part.forward, whole, forward, peak);
    Result back = row;
    back.pass = "backward";
    add_row(session, back, part.backward, whole, 2 * forward, peak);
  }
}

}  // namespace lact::bench
