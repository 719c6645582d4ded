// What context parallelism costs at equal threads: a text on two processes with one share of the threads
// each, against one process that has them all; and whether what moves is what the formula says.
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "lact/base/log.h"
#include "lact/base/threads.h"
#include "lact/bench/areas.h"
#include "lact/bench/context_problem.h"
#include "lact/bench/memory.h"
#include "lact/bench/team.h"
#include "lact/parallel/environment.h"

namespace lact::bench {

using options::Json;

namespace {

constexpr int64_t kRanks = 2;

Json request_of(const ContextShape& shape, const std::string& precision, bool backward) {
  return {{"tokens", shape.tokens}, {"chunk", shape.chunk}, {"precision", precision}, {"backward", backward}};
}

const char* pass_of(bool backward) { return backward ? "forward+backward" : "forward"; }

double total(const std::vector<Json>& answers, const char* name) {
  double sum = 0;
  for (const auto& answer : answers) sum += answer.at(name).is_null() ? 0 : answer.at(name).get<double>();
  return sum;
}

/// The numbers of all ranks added up.
std::vector<double> added(const std::vector<Json>& answers, const char* name) {
  auto sums = answers.front().at(name).get<std::vector<double>>();
  for (size_t i = 1; i < answers.size(); ++i) {
    const auto others = answers[i].at(name).get<std::vector<double>>();
    for (size_t j = 0; j < sums.size(); ++j) sums[j] += others.at(j);
  }
  return sums;
}

/// How far the team's answer is from that of one process: |difference| / |expected| over all tensors
/// together, estimated along one random direction of each.
double error_between(Team& one, Team& two, Json request) {
  request["check"] = true;
  const auto expected = one.ask(request), found = two.ask(request);
  const auto along = added(found, "along"), true_along = added(expected, "along"),
             squares = added(expected, "squares");
  double difference = 0, size = 0;
  for (size_t i = 0; i < squares.size(); ++i) {
    difference += std::pow(along.at(i) - true_along[i], 2);
    size += squares[i];
  }
  const double error = std::sqrt(difference / size);
  return std::isfinite(error) ? error : INFINITY;
}

std::string moved_note(const std::vector<Json>& answers, const ContextTraffic& expected, int64_t passes) {
  const double sums = answers.front().at("sums").get<double>(),
               summed = answers.front().at("summed_bytes").get<double>(),
               exchanged = total(answers, "exchanged_bytes"),
               formula = expected.summed_bytes * double(passes),
               exchange_formula = (expected.halo_bytes + expected.step_bytes) * double(passes);
  return fmt::format(
      "{:.0f} sums of {:.3f} MB in all, formula {} x {:.3f} MB ({:+.2f}%); halo and Muon's steps {:.3f} MB, "
      "formula {:.3f} MB ({:+.2f}%)",
      sums, summed / 1e6, passes * expected.sums, expected.summed_bytes / double(expected.sums) / 1e6,
      100 * (summed / formula - 1), exchanged / 1e6, exchange_formula / 1e6,
      100 * (exchanged / exchange_formula - 1));
}

class ContextBench {
 public:
  explicit ContextBench(Session& session)
      : session_(session),
        sizes_(session.quick()),
        threads_(std::max<int64_t>(1, threads_in_use() / kRanks)),
        one_(1, kRanks * threads_, session.quick()),
        two_(kRanks, threads_, session.quick()) {}

  const ContextSizes& sizes() const { return sizes_; }

  void measure(const ContextShape& shape, const std::string& precision, bool backward) {
    Result row = {"parallel", shape.text(), fmt::format("{} ranks x {}", kRanks, threads_), pass_of(backward),
                  precision};
    row.sizes = {{"tokens", shape.tokens}, {"chunk", shape.chunk}, {"ranks", kRanks}, {"threads", threads_}};
    Result alone = row;
    alone.sizes["ranks"] = 1, alone.sizes["threads"] = kRanks * threads_;
    alone.rule = fmt::format("1 process x {}", kRanks * threads_);
    // Longer texts are more of the same, and rounding grows from chunk to chunk.
    const ContextShape few = {2 * shape.chunk, shape.chunk};
    row.max_error = error_between(one_, two_, request_of(few, precision, backward));
    row.wrong = *row.max_error > (precision == "bf16" ? 0.05 : 1e-4);
    if (row.wrong) return session_.add(row);

    const Json request = request_of(shape, precision, backward);
    std::vector<Json> answers, answers_alone;
    const auto times = race({{"one", [&] { return seconds_of_slowest(one_, request, answers_alone); }, ""},
                             {"two", [&] { return seconds_of_slowest(two_, request, answers); }, ""}},
                            session_.options().race);
    alone.seconds = times[0].best, alone.median_seconds = times[0].median;
    row.seconds = times[1].best, row.median_seconds = times[1].median;
    alone.extra_memory_mb = total(answers_alone, "memory") / 1e6;
    row.extra_memory_mb = total(answers, "memory") / 1e6;
    const auto expected = expected_traffic(sizes_, shape, kRanks, type_of(precision));
    row.note = fmt::format("{:.3f} x the time of 1 process x {}; {}", *row.seconds / *alone.seconds,
                           kRanks * threads_, moved_note(answers, expected, backward ? 2 : 1));
    session_.add(alone);
    session_.add(row);
  }

 private:
  static double seconds_of_slowest(Team& team, const Json& request, std::vector<Json>& answers) {
    answers = team.ask(request);
    double slowest = 0;
    for (const auto& answer : answers) slowest = std::max(slowest, answer.at("seconds").get<double>());
    return slowest;
  }

  Session& session_;
  ContextSizes sizes_;
  int64_t threads_;
  Team one_, two_;
};

}  // namespace

void bench_parallel(Session& session) {
  if (!parallel::can_join()) {
    log::warn("this build joins no ranks: nothing to measure in parallel");
    return;
  }
  ContextBench bench(session);
  for (const char* precision : {"bf16", "f32"}) {
    for (const ContextShape& shape : bench.sizes().shapes) {
      const bool shortest = shape.tokens == bench.sizes().shapes.front().tokens;
      if (type_of(precision) == at::kFloat && !shortest) continue;
      for (const bool backward : {false, true}) {
        if (session.wants(fmt::format("{} {} {}", shape.text(), pass_of(backward), precision)))
          bench.measure(shape, precision, backward);
      }
    }
  }
}

void run_parallel_rank(int socket, bool quick) {
  const parallel::Environment environment = parallel::environment_of_process();
  const parallel::World world = parallel::join({.rank = environment.rank,
                                                .world = environment.world,
                                                .address = environment.address,
                                                .port = environment.port},
                                               {.context = environment.world});
  ContextProblem problem(ContextSizes(quick), world);
  serve_team(socket, [&](const Json& request) {
    Json answer = problem.answer(request);
    give_back_freed_memory();  // while this team waits the other one needs it
    return answer;
  });
}

}  // namespace lact::bench
