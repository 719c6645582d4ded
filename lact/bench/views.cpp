// Reading a scene and rendering a view of it against the number of input views: the paper's table 2 on this
// machine.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include "lact/bench/areas.h"
#include "lact/bench/nvs_problem.h"
#include "lact/models/nvs/presets.h"

namespace lact::bench {

namespace {

using models::MixerKind;

struct ViewCounts {
  NvsShape shape;
  std::vector<int64_t> inputs;
};

ViewCounts view_counts(bool quick) {
  if (quick) return {{"quick", quick_nvs_config(), 1, 1, 16}, {2, 4, 8}};
  return {{"nvs_small", models::nvs_small(), 1, 1, 128}, {4, 8, 16, 32, 64}};
}

/// Seconds of a pass against input views; `check` is for the first of a mixer's counts only: more views are
/// more of the same, and the plain form is slow.
class ViewsBench {
 public:
  ViewsBench(Session& session, const NvsShape& shape)
      : session_(session),
        prefill_{shape.rule() + ", reading", {}, {}},
        render_{shape.rule() + ", a frame", {}, {}, true} {}

  void measure(const NvsShape& shape) {
    const auto wanted = [&](const char* pass) {
      return session_.wants(shape.text() + " " + shape.rule() + " " + pass);
    };
    const bool reconstruct = wanted("reconstruct"), render = wanted("render");
    if (!reconstruct && !render) return;
    const NvsProblem problem(shape);
    if (reconstruct) add(measure_reading(shape, problem), shape, prefill_);
    if (render) add(measure_frame(shape, problem), shape, render_);
    checked_ = true;
  }

  void draw(eval::Plot& plot) const {
    for (const auto& line : {prefill_, render_}) {
      if (!line.x.empty()) plot.series.push_back(line);
    }
  }

 private:
  Trial trial_of(const NvsShape& shape, const char* pass,
                 const std::function<double(at::ScalarType, bool)>& error) const {
    Trial trial = nvs_trial(session_, shape, pass, "bf16", error);
    trial.row.area = "views";
    if (checked_) trial.error = nullptr;
    return trial;
  }

  Result measure_reading(const NvsShape& shape, const NvsProblem& problem) {
    Trial trial = trial_of(shape, "reconstruct", [&](at::ScalarType type, bool fused) {
      return problem.reconstruct_error(type, fused);
    });
    trial.run = [&] { problem.reconstruct(at::kBFloat16); };
    trial.work = nvs_work(shape, NvsPass::reconstruct);
    trial.memory = true;
    return session_.measure(trial);
  }

  Result measure_frame(const NvsShape& shape, const NvsProblem& problem) {
    const auto state = problem.reconstruct(at::kBFloat16);
    Trial trial = trial_of(shape, "render", [&](at::ScalarType type, bool fused) {
      return problem.render_error(*state, type, fused);
    });
    trial.run = [&] { problem.render(*state, at::kBFloat16); };
    trial.work = nvs_work(shape, NvsPass::render);
    const Result row = session_.measure(trial);
    if (row.seconds) session_.note(fmt::format("{:.2f} frames/s", 1 / *row.seconds));
    return row;
  }

  static void add(const Result& row, const NvsShape& shape, eval::Series& line) {
    if (!row.seconds) return;
    line.x.push_back(double(shape.inputs));
    line.y.push_back(*row.seconds);
  }

  Session& session_;
  eval::Series prefill_, render_;
  bool checked_ = false;
};

}  // namespace

void bench_views(Session& session) {
  const ViewCounts counts = view_counts(session.quick());
  eval::Plot plot = {"Reading a scene, rendering a frame", "input views", "seconds", {}, true, 0, {}};
  for (const auto mixer : {MixerKind::lact, MixerKind::full, MixerKind::perceiver}) {
    NvsShape shape = counts.shape;
    shape.config.mixer = mixer;
    // The paper's 4096 registers are as many as its views have tokens.
    if (mixer == MixerKind::perceiver) shape.config.perceiver.registers = shape.tokens_of_view();
    ViewsBench bench(session, shape);
    for (const int64_t inputs : counts.inputs) {
      shape.inputs = inputs;
      bench.measure(shape);
    }
    bench.draw(plot);
  }
  if (!plot.series.empty()) session.plots.push_back({"views", plot});
}

}  // namespace lact::bench
