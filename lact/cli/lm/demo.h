// What `lact lm demo` found, and its report.
#pragma once

#include "lact/cli/lm/eval.h"
#include "lact/tasks/lm/training/run.h"

namespace lact::cli {

struct DemoSample {
  std::string prompt, answer;
  int64_t distance = 0;                        ///< words since the answer was mentioned
  std::map<std::string, std::string> written;  ///< by model
};

struct DemoRun {
  std::string name, folder;
  tasks::lm::Run run;
  train::TrainResult outcome;
};

struct DemoResult {
  data::RecallTextOptions text;
  std::vector<DemoRun> runs;
  std::vector<tasks::lm::Recall> recalls;
  std::vector<tasks::lm::PositionLoss> losses;
  DemoSample sample;
  double seconds = 0;
};

/// A table and charts for the terminal.
std::string demo_text(const DemoResult& result);

/// report.html and result.json
void write_demo(const DemoResult& result, const std::string& folder);

}  // namespace lact::cli
