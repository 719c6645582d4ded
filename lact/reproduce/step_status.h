// How far the steps of a suite are, which of them comes next, and how long all of it will take.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lact/reproduce/step_graph.h"

namespace lact::reproduce {

enum class StepState { waiting, running, done, failed };

struct StepStatus {
  StepState state = StepState::waiting;
  double seconds = 0;   ///< so far, all parts together
  bool cached = false;  ///< was done when the suite began
  std::string failure;  ///< a sentence
};
using StepStatuses = std::vector<StepStatus>;

/// A step whose needs are done, if one more may run now: the one with the longest chain of work behind it, so
/// that no long one is left for the end. A step that is `alone` runs when nothing else does, and before all
/// else if it can.
std::optional<size_t> next_step(const StepGraph& graph, const StepStatuses& statuses, size_t jobs);

/// A step has failed: so have all that need it, for the same reason.
void fail_step(const StepGraph& graph, StepStatuses& statuses, size_t step, const std::string& sentence);

/// Estimates from the steps' work and how fast it went so far; alone ones count by themselves.
class TimeLeft {
 public:
  TimeLeft(const StepGraph& graph, const StepStatuses& statuses, size_t jobs);

  /// Seconds until all of these are done, if nothing else ran.
  double of(const std::vector<size_t>& steps) const;

 private:
  double expected(size_t step) const;  ///< seconds

  const StepGraph& graph_;
  const StepStatuses& statuses_;
  size_t jobs_;
  double slowness_[2];  ///< seconds for a second of work; [1]: alone
};

}  // namespace lact::reproduce
