// All chosen experiments together: runs what is not done yet, and writes the report.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lact/reproduce/experiment.h"
#include "lact/reproduce/live_table.h"
#include "lact/reproduce/runner.h"

namespace lact::reproduce {

struct SuiteOptions {
  std::string folder;     ///< for steps/ and the report
  Report heading;         ///< of the report: all but its date and sections
  RunnerOptions running;  ///< its `machine` is that of the heading
  Meaning meaning;        ///< of words
  LiveTableOptions table;
};

/// What became of an experiment.
struct Outcome {
  std::string id, title;
  int64_t done = 0, total = 0;     ///< steps
  std::string failure;             ///< why it has no numbers; "" if it has, or is not finished
  std::optional<Section> section;  ///< of one that is finished or has failed
};

struct SuiteOutcome {
  Report report;
  std::vector<Outcome> experiments;
  int64_t ran = 0, cached = 0, failed = 0;  ///< steps
  bool interrupted = false;

  /// Whether an experiment has failed, by a step or by results that cannot be read.
  bool any_failed() const;
};

/// A step as it would be run.
struct PlannedStep {
  std::string id, label;
  std::vector<std::string> experiments;
  std::string command;  ///< "" where it is chosen from results that are not there
  std::vector<std::string> needs;
  double work = 0;
  bool alone = false, done = false;
};

class Suite {
 public:
  /// Throws a sentence for steps that do not fit together. `all`: where needed steps may stand as well.
  Suite(std::vector<Experiment> chosen, const std::vector<Experiment>& all, SuiteOptions options);
  ~Suite();

  /// All steps in an order in which they could be typed.
  std::vector<PlannedStep> plan();
  /// Estimated seconds until all is done.
  double seconds_left();

  /// Runs what is not done, and writes the report anew whenever an experiment is finished: one that is
  /// stopped leaves the report of what was. Throws where another process uses the folder.
  SuiteOutcome run();
  /// The report of what is done, without running anything.
  SuiteOutcome report_only();

  /// The steps of an experiment of the outcome, in order, and their results as far as they are done.
  std::vector<std::string> steps_of(const std::string& experiment) const;
  const Results& results() const { return results_; }

 private:
  void look_for_finished();
  bool make_sections();  ///< of experiments that have become finished or failed; whether there are any
  void make_section(size_t experiment);
  SuiteOutcome outcome() const;
  Report report() const;

  std::vector<Experiment> experiments_;
  SuiteOptions options_;
  StepGraph graph_;
  Resolver resolver_;
  StepStatuses statuses_;
  Results results_;
  std::vector<Outcome> outcomes_;
};

/// "holds", "does not hold", "inconclusive", "failed" or "not finished" for each experiment, with the numbers
/// that decided.
std::string verdict_table(const SuiteOutcome& outcome);

}  // namespace lact::reproduce
