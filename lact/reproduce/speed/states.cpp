// Figure 1b: throughput against the size of the state.
#include <fmt/format.h>

#include <algorithm>

#include "lact/base/error.h"
#include "lact/reproduce/speed/bench_rows.h"
#include "lact/reproduce/speed/speed.h"
#include "lact/reproduce/verdict.h"

namespace lact::reproduce {

namespace {

constexpr const char* kStatePass = "forward+backward";
constexpr double kStaysHigh = 0.8;

/// One chunk of all tokens, or several.
std::vector<BenchRow> rows_with_chunks(std::vector<BenchRow> rows, bool one) {
  std::erase_if(rows, [&](const BenchRow& row) { return (row.size("chunk") == row.size("tokens")) != one; });
  LACT_CHECK(!rows.empty(), "[reproduce] what bench states printed has no row with {}",
             one ? "all tokens in one chunk" : "several chunks");
  return rows;
}

}  // namespace

Section states_section(const options::Json& bench, bool quick) {
  const BenchRows rows(bench, "states");
  const auto descent_rows = rows.of("gd", kStatePass, "state");
  const auto large = rows_with_chunks(descent_rows, true), small = rows_with_chunks(descent_rows, false);
  const double chunk = large.back().size("chunk"), small_chunk = small.back().size("chunk");
  const auto line = [&](const char* rule, double tokens, const std::vector<BenchRow>& of_line) {
    return line_of(fmt::format("{}, chunks of {:.0f}", rule, tokens), of_line, "state", percent_of_peak);
  };
  const Line large_line = line("gradient descent", chunk, large);
  const Line small_line = line("gradient descent", small_chunk, small);
  const Line muon_line = line("Muon", chunk, rows_with_chunks(rows.of("muon", kStatePass, "state"), true));

  Section section;
  section.claim =
      "With large chunks the state can grow without loss of throughput; with small ones it cannot.";
  section.paper = {
      "Fast weights of LaCT: 40 % of the parameters and more, those of earlier methods 0.1 % to 5 %",
      "The figure has no table; \"allows the state size to be scaled up efficiently\""};
  const double growth = large.back().size("state") / large.front().size("state");
  const double best = *std::max_element(large_line.y.begin(), large_line.y.end());
  section.findings.push_back(with_numbers(
      reaches(fmt::format("With one large chunk, throughput stays high while the state grows {:.0f} times",
                          growth),
              "share of the peak with the largest state / the best of all states", large_line.y.back() / best,
              kStaysHigh, Direction::higher),
      fmt::format("{:.3g} % of the peak against {:.3g} %", large_line.y.back(), best), quick));
  section.findings.push_back(with_numbers(
      reaches("A large state needs large chunks",
              fmt::format("share of the peak with the largest state, chunks of {:.0f} tokens / of {:.0f}",
                          chunk, small_chunk),
              large_line.y.back() / small_line.y.back(), kMuchFaster, Direction::higher),
      fmt::format("{:.3g} % of the peak against {:.3g} %", large_line.y.back(), small_line.y.back()), quick));

  Chart chart = {
      "Throughput against state size", "numbers in the state", "% of the machine's peak", true, {}};
  chart.lines = {large_line, muon_line, small_line};
  section.tables.push_back(table_of("Percent of the peak", "numbers in the state", chart.lines, "{:.3g}"));
  section.charts.push_back(std::move(chart));
  section.notes = {
      rows.machine(),
      fmt::format("SwiGLU fast weights, forward and backward, {:.0f} tokens of {:.0f} channels in bfloat16: "
                  "heads of {:.0f} x "
                  "{:.0f} channels to {:.0f} x {:.0f}, the hidden layer as wide as a head.",
                  large.front().size("tokens"), large.front().size("heads") * large.front().size("width"),
                  large.front().size("heads"), large.front().size("width"), large.back().size("heads"),
                  large.back().size("width")),
      "Counted are products of tokens and fast weights. Newton-Schulz grows with the cube of a head's width, "
      "so Muon wants chunks that grow with the state."};
  return section;
}

Experiment states_experiment(const Plan& plan) {
  const bool quick = plan.smoke();
  const Step step = {.id = "bench_states",
                     .label = "throughput against state size",
                     .words = bench_words("states", quick, plan.by_budget({1, 3, 7, 7}), {}),
                     .alone = true,
                     .work = double(plan.by_budget({6, 200, 400, 400}))};
  return {"fig1b", "Figure 1b: state size against throughput", {step}, [quick](const Results& results) {
            return states_section(results.json("bench_states"), quick);
          }};
}

}  // namespace lact::reproduce
