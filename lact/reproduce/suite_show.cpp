#include "lact/reproduce/suite_show.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lact/base/format.h"

namespace lact::reproduce {

namespace {

std::string label_of(const Step& step) { return step.label.empty() ? step.id : step.label; }

}  // namespace

SuiteShow::SuiteShow(const std::vector<Experiment>& experiments, const StepGraph& graph,
                     const StepStatuses& statuses, size_t jobs, const LiveTableOptions& table,
                     std::function<void()> step_ended)
    : experiments_(experiments),
      graph_(graph),
      statuses_(statuses),
      jobs_(jobs),
      table_(table),
      step_ended_(std::move(step_ended)) {}

void SuiteShow::started(size_t step, const std::string& command, bool goes_on) {
  // The command on a line of its own: a person may copy it.
  table_.message(
      fmt::format("{}: {}\n  {}", goes_on ? "goes on" : "starts", label_of(graph_.step(step)), command));
}

void SuiteShow::done(size_t step) {
  table_.message(fmt::format("done: {}, {}; {}", label_of(graph_.step(step)),
                             statuses_[step].cached ? "as before" : format_duration(statuses_[step].seconds),
                             table_.on_terminal() ? count() : count() + ", " + time_left()));
  step_ended_();
}

void SuiteShow::failed(size_t step) {
  table_.message(fmt::format("failed: {}: {}", label_of(graph_.step(step)), statuses_[step].failure));
  step_ended_();
}

void SuiteShow::tick() {
  if (!table_.on_terminal()) return;
  const TimeLeft left(graph_, statuses_, jobs_);
  std::vector<TableRow> rows;
  for (size_t i = 0; i < experiments_.size(); ++i) rows.push_back(row(i, left));
  table_.show(fmt::format("{}, {}", count(), time_left()), rows);
}

std::string SuiteShow::count() const {
  const auto finished = std::count_if(statuses_.begin(), statuses_.end(), [](const StepStatus& status) {
    return status.state == StepState::done;
  });
  const auto failed = std::count_if(statuses_.begin(), statuses_.end(), [](const StepStatus& status) {
    return status.state == StepState::failed;
  });
  return fmt::format("{} of {} steps done{}", finished, statuses_.size(),
                     failed == 0 ? "" : fmt::format(", {} failed", failed));
}

std::string SuiteShow::time_left() const {
  std::vector<size_t> all(graph_.size());
  std::iota(all.begin(), all.end(), size_t(0));
  const double seconds = TimeLeft(graph_, statuses_, jobs_).of(all);
  return "about " + format_duration(std::ceil(seconds)) + " left";
}

TableRow SuiteShow::row(size_t experiment, const TimeLeft& left) const {
  const auto& steps = graph_.steps_of(experiment);
  TableRow row = {.id = experiments_[experiment].id,
                  .done = 0,
                  .total = int64_t(steps.size()),
                  .doing = {},
                  .left = {},
                  .interesting = false};
  bool failed = false, open = false;
  for (const size_t i : steps) {
    const StepStatus& status = statuses_[i];
    row.done += status.state == StepState::done;
    failed = failed || status.state == StepState::failed;
    open = open || status.state == StepState::waiting || status.state == StepState::running;
    if (status.state != StepState::running) continue;
    row.interesting = true;
    row.doing += fmt::format("{}{} ({})", row.doing.empty() ? "" : "; ", label_of(graph_.step(i)),
                             format_duration(std::floor(status.seconds)));
  }
  if (row.doing.empty()) row.doing = failed ? "failed" : open ? "waits" : "done";
  if (open) row.left = format_duration(std::ceil(left.of(steps))) + " left";
  return row;
}

}  // namespace lact::reproduce
