// What context parallelism costs.
#include <fmt/format.h>

#include <algorithm>

#include "lact/base/error.h"
#include "lact/reproduce/speed/bench_rows.h"
#include "lact/reproduce/speed/speed.h"
#include "lact/reproduce/verdict.h"

namespace lact::reproduce {

namespace {

constexpr double kPaperOverhead = 3;  // percent; the paper has 1 to 3

/// The same work by one process and by several.
struct RanksPair {
  BenchRow alone, ranks;

  double overhead() const { return 100 * (ranks.seconds / alone.seconds - 1); }
  std::string text() const {
    return fmt::format("{:.0f} tokens in chunks of {:.0f}", ranks.size("tokens"), ranks.size("chunk"));
  }
};

std::vector<RanksPair> rank_pairs(const BenchRows& rows) {
  std::vector<RanksPair> pairs;
  const auto alone = rows.of("1 process*", "forward+backward", "tokens");
  for (const BenchRow& row : rows.of("2 ranks*", "forward+backward", "tokens")) {
    const auto same = [&](const BenchRow& other) {
      return other.size("tokens") == row.size("tokens") && other.size("chunk") == row.size("chunk");
    };
    const auto found = std::find_if(alone.begin(), alone.end(), same);
    LACT_CHECK(found != alone.end(),
               "[reproduce] bench parallel has no row of one process with {:.0f} tokens", row.size("tokens"));
    pairs.push_back({*found, row});
  }
  return pairs;
}

}  // namespace

Section parallel_section(const options::Json& bench, bool quick) {
  const BenchRows rows(bench, "parallel");
  const auto pairs = rank_pairs(rows);
  Section section;
  section.claim =
      "Sharing the tokens of a chunk among devices costs next to nothing: fast weights are summed once "
      "per chunk.";
  section.paper = {"Throughput overhead of context parallelism: 1 % to 3 %"};
  Table table = {"A pass and its gradients, at equal threads",
                 {"tokens", "chunk", "one process (s)", "ranks (s)", "overhead"},
                 {}};
  for (const RanksPair& pair : pairs) {
    section.findings.push_back(with_numbers(
        reaches("Context parallelism costs at most 3 %",
                "percent of time that two ranks take more than one process, " + pair.text(), pair.overhead(),
                kPaperOverhead, Direction::lower),
        fmt::format("{:.3g} s against {:.3g} s", pair.ranks.seconds, pair.alone.seconds), quick));
    table.rows.push_back(
        {fmt::format("{:.0f}", pair.ranks.size("tokens")), fmt::format("{:.0f}", pair.ranks.size("chunk")),
         fmt::format("{:.3g}", pair.alone.seconds), fmt::format("{:.3g}", pair.ranks.seconds),
         fmt::format("{:+.1f} %", pair.overhead())});
  }
  section.tables.push_back(std::move(table));
  section.notes = {rows.machine(),
                   fmt::format("One layer of a language model in bfloat16, forward and backward. Ranks: "
                               "{:.0f}, threads of each: {:.0f}, of the "
                               "process they are compared with: {:.0f}. Sums of gradients go through Gloo on "
                               "one machine. Below zero, ranks "
                               "are faster than threads.",
                               pairs.front().ranks.size("ranks"), pairs.front().ranks.size("threads"),
                               pairs.front().alone.size("threads")),
                   "The paper measured training of view synthesis on GPUs."};
  return section;
}

Experiment parallel_experiment(const Plan& plan) {
  const bool quick = plan.smoke();
  // Longer texts are minutes each.
  const char* shape = plan.budget > Budget::two_hours ? "forward+backward bf16"
                                                      : "32768 tokens, chunk 8192 forward+backward bf16";
  const Words more =
      quick ? Words{"--shape", "forward+backward bf16"} : Words{"--shape", shape, "--budget", "200"};
  const Step step = {.id = "bench_parallel",
                     .label = "context parallelism at equal threads",
                     .words = bench_words("parallel", quick, plan.by_budget({1, 5, 5, 5}), more),
                     .alone = true,
                     .work = double(plan.by_budget({6, 160, 2000, 2000}))};
  return {"parallel", "Context parallelism: what it costs", {step}, [quick](const Results& results) {
            return parallel_section(results.json("bench_parallel"), quick);
          }};
}

}  // namespace lact::reproduce
