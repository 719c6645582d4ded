// Throughput against the size of a chunk: the paper's figure 1a on this machine.
#include <fmt/format.h>

#include "lact/bench/areas.h"
#include "lact/bench/work.h"

namespace lact::bench {

namespace {

std::optional<double> throughput(const TttShape& shape, const std::optional<double>& seconds) {
  if (!seconds) return std::nullopt;
  return ttt_token_work(shape, Pass::forward_backward) / *seconds / 1e9;
}

Result measure(Session& session, const TttShape& shape) {
  const TttProblem problem(shape, at::kBFloat16);
  TttCheck check(problem, shape);
  Trial trial;
  trial.row = {"chunks", shape.name(), shape.rule(), "forward+backward", "bf16"};
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
  return session.measure(trial);
}

/// LaCT by both rules and with linear fast weights, and the original TTT, whose heads are 64 channels wide,
/// at the same model width. Tokens and chunk are still missing.
std::vector<std::pair<std::string, TttShape>> regimes(bool quick) {
  const int64_t heads = quick ? 1 : 4, width = quick ? 32 : 256;
  const int64_t original_heads = quick ? 2 : 16, original_width = quick ? 16 : 64;
  const auto lact = [&](bool muon, const char* network) {
    return TttShape{heads, 0, 0, width, width, false, muon, 5, network};
  };
  const auto original = [&](int64_t multiple, const char* network) {
    return TttShape{original_heads, 0,     0, original_width, multiple * original_width,
                    false,          false, 5, network};
  };
  return {{"gradient descent", lact(false, "swiglu")},
          {"Muon", lact(true, "swiglu")},
          {"linear", lact(false, "linear")},
          {"TTT-Linear", original(1, "ttt_linear")},
          {"TTT-MLP", original(4, "ttt_mlp")}};
}

void add_point(eval::Series& series, int64_t chunk, const std::optional<double>& value) {
  if (!value) return;
  series.x.push_back(double(chunk));
  series.y.push_back(*value);
}

}  // namespace

void bench_chunks(Session& session) {
  const int64_t longest = session.quick() ? 64 : 4096;
  eval::Plot plot = {
      "Throughput against chunk size", "tokens of a chunk", "GFLOP/s of token products", {}, true, 0, {}};
  for (const auto& [name, regime] : regimes(session.quick())) {
    eval::Series ours = {"ours, " + name, {}, {}}, bf16 = {"PyTorch bf16, " + name, {}, {}, true};
    eval::Series f32 = {"PyTorch f32, " + name, {}, {}, true};
    for (int64_t chunk = 16; chunk <= longest; chunk *= 2) {
      TttShape shape = regime;
      shape.tokens = longest, shape.chunk = chunk;
      if (!session.wants(shape.name() + " " + shape.rule())) continue;
      const Result row = measure(session, shape);
      const auto rate = throughput(shape, row.seconds);
      add_point(ours, chunk, rate);
      if (rate && row.vs_pytorch_bf16) add_point(bf16, chunk, *rate / *row.vs_pytorch_bf16);
      if (rate && row.vs_pytorch_f32) add_point(f32, chunk, *rate / *row.vs_pytorch_f32);
      if (rate) session.note(fmt::format("{:.1f} GFLOP/s", *rate));
    }
    for (auto& series : {ours, bf16, f32}) {
      if (!series.x.empty()) plot.series.push_back(series);
    }
  }
  if (plot.series.empty()) return;
  const double peak = session.machine().limits.peak() / 1e9;
  plot.series.push_back({"peak", {16, double(longest)}, {peak, peak}, true});
  session.plots.push_back({"chunks", plot});
}

}  // namespace lact::bench
