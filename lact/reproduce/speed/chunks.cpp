// Figure 1a: throughput against the size of a chunk.
#include <fmt/format.h>

#include <algorithm>

#include "lact/reproduce/speed/bench_rows.h"
#include "lact/reproduce/speed/speed.h"
#include "lact/reproduce/verdict.h"

namespace lact::reproduce {

namespace {

constexpr const char* kScanPass = "forward+backward";

/// Chunks of the original regime.
constexpr double kFirstOriginalChunk = 16, kLastOriginalChunk = 64;

/// The original test-time training at its best.
struct Original {
  std::string name;
  double percent = 0, chunk = 0;
};

Original best_original(const std::vector<Line>& lines) {
  Original best;
  for (const Line& line : lines) {
    for (size_t i = 0; i < line.x.size(); ++i) {
      const bool of_regime = line.x[i] >= kFirstOriginalChunk && line.x[i] <= kLastOriginalChunk;
      if (of_regime && line.y[i] > best.percent) best = {line.name, line.y[i], line.x[i]};
    }
  }
  return best;
}

}  // namespace

Section chunks_section(const options::Json& bench, bool quick) {
  const BenchRows rows(bench, "chunks");
  const auto line = [&](const char* name, const char* rule) {
    return line_of(name, rows.of(rule, kScanPass, "chunk"), "chunk", percent_of_peak);
  };
  const Line descent = line("LaCT, gradient descent", "gd");
  const std::vector<Line> original = {line("TTT-Linear", "ttt_linear"), line("TTT-MLP", "ttt_mlp")};

  Section section;
  section.claim =
      "Large chunks use the hardware several times better than the chunks of 16 to 64 tokens of the original "
      "test-time training.";
  section.paper = {"Test-time training with 16 to 64 tokens per update: often below 5 % of the peak of a GPU",
                   "LaCT: up to 70 % of the peak of an A100; above 10 % is called non-trivial",
                   "The figure has no table; \"improves hardware utilization by orders of magnitude\""};

  const Original best = best_original(original);
  const double smallest = descent.x.front(), largest = descent.x.back();
  section.findings.push_back(with_numbers(
      reaches(
          "LaCT with its largest chunk uses the machine much better than the original regime",
          fmt::format("share of the peak with chunks of {:.0f} tokens / the best of TTT-Linear and TTT-MLP "
                      "with {:.0f} to {:.0f} tokens",
                      largest, kFirstOriginalChunk, kLastOriginalChunk),
          descent.y.back() / best.percent, kMuchFaster, Direction::higher),
      fmt::format("{:.3g} % of the peak against {:.3g} % ({} with chunks of {:.0f})", descent.y.back(),
                  best.percent, best.name, best.chunk),
      quick));
  section.findings.push_back(with_numbers(
      reaches("Throughput rises with the size of the chunk",
              fmt::format("LaCT with chunks of {:.0f} tokens / with {:.0f}", largest, smallest),
              descent.y.back() / descent.y.front(), kMuchFaster, Direction::higher),
      fmt::format("{:.3g} % of the peak against {:.3g} %", descent.y.back(), descent.y.front()), quick));
  section.findings.push_back(with_numbers(
      reaches("LaCT's utilisation is not trivial",
              fmt::format("percent of the peak with chunks of {:.0f} tokens", largest), descent.y.back(), 10,
              Direction::higher),
      fmt::format("best of all chunks {:.3g} %", *std::max_element(descent.y.begin(), descent.y.end())),
      quick));

  Chart chart = {"Throughput against chunk size", "tokens of a chunk", "% of the machine's peak", true, {}};
  chart.lines = {descent};
  if (rows.has("muon", kScanPass)) chart.lines.push_back(line("LaCT, Muon", "muon"));
  chart.lines.push_back(line("LaCT, linear fast weights", "linear gd"));
  chart.lines.insert(chart.lines.end(), original.begin(), original.end());
  section.tables.push_back(table_of("Percent of the peak", "tokens of a chunk", chart.lines, "{:.3g}"));
  chart.lines.push_back({"peak", {smallest, largest}, {100, 100}, {}, {}, true});
  section.charts.push_back(std::move(chart));

  const auto of_lact = rows.of("gd", kScanPass, "chunk").front();
  const auto of_mlp = rows.of("ttt_mlp", kScanPass, "chunk").front();
  section.notes = {
      rows.machine(),
      fmt::format(
          "The operation alone, forward and backward, {:.0f} tokens in bfloat16: LaCT with {:.0f} x "
          "{:.0f} channels ({:.0f} numbers of state), the original with {:.0f} x {:.0f} (TTT-MLP: {:.0f}).",
          of_lact.size("tokens"), of_lact.size("heads"), of_lact.size("width"), of_lact.size("state"),
          of_mlp.size("heads"), of_mlp.size("width"), of_mlp.size("state")),
      "Counted are products of tokens and fast weights; Newton-Schulz is not, so that what Muon takes shows "
      "as lost throughput. With Muon, chunks that are mostly Newton-Schulz may be left out.",
      "Kernels of this library run all of them, the original regime's too; the paper compares plain PyTorch "
      "with customised kernels."};
  return section;
}

Experiment chunks_experiment(const Plan& plan) {
  // Muon by small chunks is minutes of Newton-Schulz.
  const Words few = {"--shape", "gd",
                     "--shape", "ttt_",
                     "--shape", "/512 256x256 muon",
                     "--shape", "/1024 256x256 muon",
                     "--shape", "/2048 256x256 muon",
                     "--shape", "4x4096 256x256 muon"};
  const bool quick = plan.smoke(), all = plan.budget > Budget::two_hours;
  const Step step = {.id = "bench_chunks",
                     .label = "throughput against chunk size",
                     .words = bench_words("chunks", quick, all ? 7 : 3, quick || all ? Words{} : few),
                     .alone = true,
                     .work = double(plan.by_budget({8, 200, 1200, 1200}))};
  return {"fig1a", "Figure 1a: throughput against chunk size", {step}, [quick](const Results& results) {
            return chunks_section(results.json("bench_chunks"), quick);
          }};
}

}  // namespace lact::reproduce
