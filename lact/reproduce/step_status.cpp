#include "lact/reproduce/step_status.h"

#include <algorithm>

namespace lact::reproduce {

namespace {

constexpr double kLeastShareLeft = 0.1;  // of the time that a step has taken

bool is_ready(const StepGraph& graph, const StepStatuses& statuses, size_t step) {
  const auto& needs = graph.needs(step);
  return statuses[step].state == StepState::waiting &&
         std::all_of(needs.begin(), needs.end(),
                     [&](size_t need) { return statuses[need].state == StepState::done; });
}

}  // namespace

std::optional<size_t> next_step(const StepGraph& graph, const StepStatuses& statuses, size_t jobs) {
  size_t running = 0;
  for (size_t i = 0; i < graph.size(); ++i) {
    if (statuses[i].state != StepState::running) continue;
    if (graph.step(i).alone) return std::nullopt;
    ++running;
  }
  if (running >= jobs) return std::nullopt;
  std::optional<size_t> best;
  for (size_t i = 0; i < graph.size(); ++i) {
    const bool alone = graph.step(i).alone;
    if (!is_ready(graph, statuses, i) || (alone && running > 0)) continue;
    const bool best_alone = best && graph.step(*best).alone;
    if (!best || alone > best_alone || (alone == best_alone && graph.chain(i) > graph.chain(*best))) best = i;
  }
  return best;
}

void fail_step(const StepGraph& graph, StepStatuses& statuses, size_t step, const std::string& sentence) {
  statuses[step].state = StepState::failed;
  statuses[step].failure = sentence;
  // Those that need it come after it.
  for (size_t i = step + 1; i < graph.size(); ++i)
    for (const size_t need : graph.needs(i)) {
      if (statuses[need].state != StepState::failed || statuses[i].state != StepState::waiting) continue;
      statuses[i].state = StepState::failed;
      statuses[i].failure = statuses[need].failure;
    }
}

TimeLeft::TimeLeft(const StepGraph& graph, const StepStatuses& statuses, size_t jobs)
    : graph_(graph), statuses_(statuses), jobs_(jobs) {
  double seconds[2] = {0, 0}, work[2] = {0, 0};
  for (size_t i = 0; i < graph.size(); ++i) {
    if (statuses[i].state != StepState::done) continue;
    seconds[graph.step(i).alone] += statuses[i].seconds;
    work[graph.step(i).alone] += graph.step(i).work;
  }
  for (const int alone : {0, 1}) slowness_[alone] = seconds[alone] > 0 ? seconds[alone] / work[alone] : 1;
}

double TimeLeft::expected(size_t step) const {
  return graph_.step(step).work * slowness_[graph_.step(step).alone];
}

double TimeLeft::of(const std::vector<size_t>& steps) const {
  double shared = 0, alone = 0;
  std::vector<double> chains(graph_.size(), 0);  // what is left of the longest chain that ends with a step
  double longest = 0;
  for (const size_t i : steps) {
    const StepState state = statuses_[i].state;
    const bool open = state == StepState::waiting || state == StepState::running;
    // One that takes longer than expected is not about to end at every moment.
    const double least = kLeastShareLeft * statuses_[i].seconds;
    const double left = open ? std::max(least, expected(i) - statuses_[i].seconds) : 0;
    (graph_.step(i).alone ? alone : shared) += left;
    for (const size_t need : graph_.needs(i)) chains[i] = std::max(chains[i], chains[need]);
    chains[i] += graph_.step(i).alone ? 0 : left;
    longest = std::max(longest, chains[i]);
  }
  return alone + std::max(shared / double(jobs_), longest);
}

}  // namespace lact::reproduce
