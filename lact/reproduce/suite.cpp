#include "lact/reproduce/suite.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/one_sentence.h"
#include "lact/io/file_lock.h"
#include "lact/reproduce/report.h"
#include "lact/reproduce/step_words.h"
#include "lact/reproduce/suite_show.h"

namespace lact::reproduce {

namespace {

std::string now_as_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  char text[32];
  const size_t length = std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &parts);
  return std::string(text, length);
}

/// One suite at a time in a folder, which is made.
class SuiteLock {
 public:
  explicit SuiteLock(const std::string& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    LACT_CHECK(!error, "{}: cannot be created: {}", folder, error.message());
    descriptor_ = io::open_locked((std::filesystem::path(folder) / "suite.lock").string(),
                                  folder + ": another lact reproduce works in this folder");
  }
  ~SuiteLock() { close(descriptor_); }
  SuiteLock(const SuiteLock&) = delete;
  SuiteLock& operator=(const SuiteLock&) = delete;

 private:
  int descriptor_ = -1;
};

/// A section without numbers. That it could be judged is a statement like others, by a rule like others.
Section failed_section(const std::string& sentence) {
  Section section;
  section.findings.push_back({.statement = "The experiment has run",
                              .rule = "every command ends with exit code 0, and its results can be read",
                              .because = "failed: " + sentence,
                              .verdict = Verdict::inconclusive});
  return section;
}

}  // namespace

Suite::Suite(std::vector<Experiment> chosen, const std::vector<Experiment>& all, SuiteOptions options)
    : experiments_(std::move(chosen)),
      options_(std::move(options)),
      graph_(experiments_, all),
      resolver_(graph_, options_.folder, options_.meaning),
      statuses_(graph_.size()) {
  LACT_CHECK(options_.running.jobs >= 1, "[reproduce] {} jobs at a time, expected at least 1",
             options_.running.jobs);
  for (size_t i = 0; i < experiments_.size(); ++i) {
    const std::string& id = experiments_[i].id;
    LACT_CHECK(!id.empty() && std::all_of(id.begin(), id.end(), is_id_letter),
               "[reproduce] an experiment is called \"{}\", expected letters, digits, '_', '-' and '.'", id);
    for (size_t j = 0; j < i; ++j)
      LACT_CHECK(experiments_[j].id != id, "[reproduce] two experiments are called {}", id);
    outcomes_.push_back({.id = experiments_[i].id,
                         .title = experiments_[i].title,
                         .done = 0,
                         .total = int64_t(graph_.steps_of(i).size()),
                         .failure = {},
                         .section = {}});
  }
  options_.running.machine = options_.heading.machine;
}

Suite::~Suite() = default;

void Suite::look_for_finished() {
  for (size_t i = 0; i < graph_.size(); ++i) {
    if (statuses_[i].state != StepState::waiting) continue;
    const ResolvedStep* step = nullptr;
    try {
      step = resolver_.resolve(i, results_);
    } catch (const Error& error) {
      fail_step(graph_, statuses_, i,
                fmt::format("step {} cannot be run: {}", graph_.step(i).id, error.what()));
      continue;
    }
    const auto record = step == nullptr ? std::nullopt : step->folder.finished();
    if (!record) continue;
    statuses_[i] = {.state = StepState::done, .seconds = record->seconds, .cached = true, .failure = {}};
    results_.add(graph_.step(i).id, result_of(*step, *record));
  }
}

bool Suite::make_sections() {
  bool made = false;
  for (size_t i = 0; i < experiments_.size(); ++i) {
    Outcome& outcome = outcomes_[i];
    bool open = false;
    outcome.done = 0;
    std::string failure;
    for (const size_t step : graph_.steps_of(i)) {
      const StepStatus& status = statuses_[step];
      if (status.state == StepState::done) ++outcome.done;
      if (status.state == StepState::failed && failure.empty()) failure = status.failure;
      open = open || status.state == StepState::waiting || status.state == StepState::running;
    }
    if (outcome.section || (open && failure.empty())) continue;
    outcome.failure = failure;
    make_section(i);
    made = true;
  }
  return made;
}

void Suite::make_section(size_t experiment) {
  Outcome& outcome = outcomes_[experiment];
  if (outcome.failure.empty()) {
    try {
      Section made = experiments_[experiment].section(results_);
      made.id = outcome.id;
      check_section(made, "section " + outcome.id);
      outcome.section = std::move(made);
    } catch (const std::exception& error) {
      outcome.failure = one_sentence(error);
    }
  }
  if (!outcome.failure.empty()) outcome.section = failed_section(outcome.failure);
  Section& section = *outcome.section;
  section.id = outcome.id;
  section.title = outcome.title;
  section.commands.clear();
  section.seconds = 0;
  for (const size_t step : graph_.steps_of(experiment)) {
    const Step& own = graph_.step(step);
    if (!results_.has(own.id)) continue;
    section.commands.push_back(results_.at(own.id).command);
    section.seconds += statuses_[step].seconds * double(own.alone ? options_.running.cores : 1);
  }
}

Report Suite::report() const {
  Report report = options_.heading;
  report.date = now_as_text();
  report.sections.clear();
  for (const auto& outcome : outcomes_)
    if (outcome.section) report.sections.push_back(*outcome.section);
  return report;
}

SuiteOutcome Suite::outcome() const {
  SuiteOutcome result;
  result.report = report();
  result.experiments = outcomes_;
  for (const auto& status : statuses_) {
    result.failed += status.state == StepState::failed;
    result.cached += status.state == StepState::done && status.cached;
    result.ran += status.state == StepState::done && !status.cached;
  }
  return result;
}

SuiteOutcome Suite::run() {
  const SuiteLock lock(options_.folder);
  look_for_finished();
  const auto write_if_changed = [this] {
    if (make_sections()) write_report(report(), options_.folder);
  };
  write_if_changed();
  SuiteShow show(experiments_, graph_, statuses_, options_.running.jobs, options_.table, write_if_changed);
  const bool finished = Runner(graph_, resolver_, statuses_, results_, options_.running, show).run();
  SuiteOutcome result = outcome();
  result.interrupted = !finished;
  write_report(result.report, options_.folder);
  return result;
}

SuiteOutcome Suite::report_only() {
  const SuiteLock lock(options_.folder);
  look_for_finished();
  make_sections();
  write_report(report(), options_.folder);
  return outcome();
}

std::vector<PlannedStep> Suite::plan() {
  look_for_finished();
  std::vector<PlannedStep> steps;
  for (size_t i = 0; i < graph_.size(); ++i) {
    const Step& own = graph_.step(i);
    PlannedStep step = {.id = own.id,
                        .label = own.label,
                        .experiments = {},
                        .command = {},
                        .needs = {},
                        .work = own.work,
                        .alone = own.alone,
                        .done = statuses_[i].state == StepState::done};
    for (size_t e = 0; e < experiments_.size(); ++e) {
      const auto& all = graph_.steps_of(e);
      if (std::count(all.begin(), all.end(), i) > 0) step.experiments.push_back(experiments_[e].id);
    }
    for (const size_t need : graph_.needs(i)) step.needs.push_back(graph_.step(need).id);
    if (statuses_[i].state != StepState::failed) {
      const ResolvedStep* const resolved = resolver_.resolve(i, results_);
      if (resolved != nullptr) step.command = resolved->command();
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

double Suite::seconds_left() {
  look_for_finished();
  std::vector<size_t> all;
  for (size_t i = 0; i < graph_.size(); ++i) all.push_back(i);
  return TimeLeft(graph_, statuses_, options_.running.jobs).of(all);
}

std::vector<std::string> Suite::steps_of(const std::string& experiment) const {
  std::vector<std::string> ids;
  for (size_t i = 0; i < experiments_.size(); ++i)
    if (experiments_[i].id == experiment)
      for (const size_t step : graph_.steps_of(i)) ids.push_back(graph_.step(step).id);
  return ids;
}

}  // namespace lact::reproduce
