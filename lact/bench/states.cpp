// Throughput against the size of the state, with large chunks and with small ones: the paper's figure 1b on
// this machine.
#include "lact/bench/areas.h"
#include "lact/bench/throughput.h"

namespace lact::bench {

namespace {

/// Heads of growing width share a fixed number of channels, so that the state grows with the width and the
/// rest of a layer would stay what it is (as in the paper's figure 1c).
struct StateSizes {
  int64_t channels, tokens, small_chunk;
  std::vector<int64_t> head_widths;
};

StateSizes state_sizes(bool quick) {
  if (quick) return {64, 64, 16, {16, 32, 64}};
  return {768, 4096, 64, {64, 128, 192, 384, 768}};
}

struct StateRegime {
  std::string name;
  int64_t chunk;
  bool muon;
};

}  // namespace

void bench_states(Session& session) {
  const StateSizes sizes = state_sizes(session.quick());
  eval::Plot plot = {
      "Throughput against state size", "numbers in the state", "GFLOP/s of token products", {}, true, 0, {}};
  std::optional<double> smallest, largest;
  // Muon by small chunks would be little more than Newton-Schulz.
  for (const StateRegime& regime :
       std::vector<StateRegime>{{"one chunk, gradient descent", sizes.tokens, false},
                                {"one chunk, Muon", sizes.tokens, true},
                                {"small chunks, gradient descent", sizes.small_chunk, false}}) {
    ThroughputLines lines(regime.name);
    for (const int64_t width : sizes.head_widths) {
      const TttShape shape = {
          sizes.channels / width, sizes.tokens, regime.chunk, width, width, false, regime.muon};
      if (!session.wants(shape.name() + " " + shape.rule())) continue;
      const auto state = double(shape.state());
      lines.add(state, measure_throughput(session, "states", shape));
      smallest = std::min(smallest.value_or(state), state);
      largest = std::max(largest.value_or(state), state);
    }
    lines.draw(plot);
  }
  if (plot.series.empty()) return;
  plot.series.push_back(peak_line(session, *smallest, *largest));
  session.plots.push_back({"states", plot});
}

}  // namespace lact::bench
