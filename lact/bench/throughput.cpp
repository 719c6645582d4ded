#include "lact/bench/throughput.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "lact/bench/work.h"

namespace lact::bench {

Throughput measure_throughput(Session& session, const std::string& area, const TttShape& shape) {
  const TttProblem problem(shape, at::kBFloat16);
  TttCheck check(problem, shape);
  Trial trial;
  trial.row = {area, shape.name(), shape.rule(), "forward+backward", "bf16"};
  trial.row.sizes = shape.sizes();
  trial.error = [&] { return check.error(true, false); };
  trial.tolerance = ttt_tolerance(shape, at::kBFloat16);
  trial.rounding = ttt_rounding(check, shape, at::kBFloat16, true, false);
  trial.run = [&] { problem.forward_backward(false); };
  for (const char* precision : {"bf16", "f32"}) {
    trial.forms.push_back({precision,
                           {{"op", "ttt"},
                            {"heads", shape.heads},
                            {"tokens", shape.tokens},
                            {"chunk", shape.chunk},
                            {"width", shape.width},
                            {"hidden", shape.hidden},
                            {"muon", shape.muon},
                            {"momentum", shape.momentum},
                            {"backward", true},
                            {"network", shape.network},
                            {"form", "token_major"}}});
  }
  trial.work = ttt_token_work(shape, Pass::forward_backward);
  trial.limit = session.machine().limits.peak();
  const Result row = session.measure(trial);

  Throughput throughput;
  if (!row.seconds) return throughput;
  throughput.ours = trial.work / *row.seconds / 1e9;
  if (row.vs_pytorch_bf16) throughput.pytorch_bf16 = *throughput.ours / *row.vs_pytorch_bf16;
  if (row.vs_pytorch_f32) throughput.pytorch_f32 = *throughput.ours / *row.vs_pytorch_f32;
  session.note(fmt::format("{:.1f} GFLOP/s", *throughput.ours));
  return throughput;
}

ThroughputLines::ThroughputLines(const std::string& name)
    : ours_{"ours, " + name, {}, {}},
      bf16_{"PyTorch bf16, " + name, {}, {}, true},
      f32_{"PyTorch f32, " + name, {}, {}, true} {}

void ThroughputLines::add(double x, const Throughput& measured) {
  const auto add_point = [x](eval::Series& line, const std::optional<double>& value) {
    if (!value) return;
    line.x.push_back(x);
    line.y.push_back(*value);
  };
  add_point(ours_, measured.ours);
  add_point(bf16_, measured.pytorch_bf16);
  add_point(f32_, measured.pytorch_f32);
}

void ThroughputLines::draw(eval::Plot& plot) const {
  for (const auto& line : {ours_, bf16_, f32_}) {
    if (!line.x.empty()) plot.series.push_back(line);
  }
}

eval::Series peak_line(const Session& session, double first, double last) {
  const double peak = session.machine().limits.peak() / 1e9;
  return {"peak", {first, last}, {peak, peak}, true};
}

}  // namespace lact::bench
