// Throughput against the size of a chunk: the paper's figure 1a on this machine.
#include "lact/bench/areas.h"
#include "lact/bench/throughput.h"

namespace lact::bench {

namespace {

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

}  // namespace

void bench_chunks(Session& session) {
  const int64_t longest = session.quick() ? 64 : 4096;
  eval::Plot plot = {
      "Throughput against chunk size", "tokens of a chunk", "GFLOP/s of token products", {}, true, 0, {}};
  for (const auto& [name, regime] : regimes(session.quick())) {
    ThroughputLines lines(name);
    for (int64_t chunk = 16; chunk <= longest; chunk *= 2) {
      TttShape shape = regime;
      shape.tokens = longest, shape.chunk = chunk;
      if (!session.wants(shape.name() + " " + shape.rule())) continue;
      lines.add(double(chunk), measure_throughput(session, "chunks", shape));
    }
    lines.draw(plot);
  }
  if (plot.series.empty()) return;
  plot.series.push_back(peak_line(session, 16, double(longest)));
  session.plots.push_back({"chunks", plot});
}

}  // namespace lact::bench
