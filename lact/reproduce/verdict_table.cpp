#include <fmt/format.h>

#include <algorithm>

#include "lact/base/options.h"
#include "lact/reproduce/suite.h"

namespace lact::reproduce {

namespace {

std::string word_for(const Outcome& outcome) {
  if (!outcome.failure.empty()) return "failed";
  if (!outcome.section) return "not finished";
  return std::string(options::word_of(outcome.section->verdict()));
}

}  // namespace

bool SuiteOutcome::any_failed() const {
  return std::any_of(experiments.begin(), experiments.end(),
                     [](const Outcome& outcome) { return !outcome.failure.empty(); });
}

std::string verdict_table(const SuiteOutcome& outcome) {
  size_t id = 0;
  for (const auto& experiment : outcome.experiments) id = std::max(id, experiment.id.size());
  std::string text;
  for (const auto& experiment : outcome.experiments) {
    text += fmt::format("{:<{}}  {:<13}  {}\n", experiment.id, id, word_for(experiment), experiment.title);
    const auto line = [&](std::string_view word, const std::string& sentence) {
      text += fmt::format("{:<{}}    {:<13}  {}\n", "", id, word, sentence);
    };
    if (!experiment.section) {
      line("", fmt::format("{} of {} steps are done", experiment.done, experiment.total));
    } else if (!experiment.failure.empty()) {
      line("", experiment.failure);
    } else {
      for (const auto& finding : experiment.section->findings)
        line(options::word_of(finding.verdict), finding.statement + ": " + finding.because);
    }
  }
  return text;
}

}  // namespace lact::reproduce
