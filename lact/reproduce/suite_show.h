// Tells the person at the terminal what a suite does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lact/reproduce/live_table.h"
#include "lact/reproduce/runner.h"

namespace lact::reproduce {

class SuiteShow : public RunnerEvents {
 public:
  /// All references have to outlive it. `step_ended` is called after each step.
  SuiteShow(const std::vector<Experiment>& experiments, const StepGraph& graph, const StepStatuses& statuses,
            size_t jobs, const LiveTableOptions& table, std::function<void()> step_ended);

  void started(size_t step, const std::string& command, bool goes_on) override;
  void done(size_t step) override;
  void failed(size_t step) override;
  void tick() override;

 private:
  std::string count() const;  ///< "12 of 40 steps done"
  std::string time_left() const;
  TableRow row(size_t experiment, const TimeLeft& left) const;

  const std::vector<Experiment>& experiments_;
  const StepGraph& graph_;
  const StepStatuses& statuses_;
  size_t jobs_;
  LiveTable table_;
  std::function<void()> step_ended_;
};

}  // namespace lact::reproduce
