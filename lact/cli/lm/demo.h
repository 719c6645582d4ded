// What `lact lm demo` found, and its report.
#pragma once

#include "lact/cli/lm/eval.h"

namespace lact::cli {

struct DemoSample {
  std::string prompt, answer;
  int64_t distance = 0;                        ///< words since the answer was mentioned
  std::map<std::string, std::string> written;  ///< by model
};

/// One training, by a command that a user could type.
struct DemoRun {
  std::string name, folder;
  std::vector<std::string> words;  ///< behind `lact`
  int64_t steps = 0;
  double seconds = 0, loss = 0, valid_loss = 0;
};

struct DemoResult {
  data::RecallTextOptions text;
  int64_t window = 0, chunk = 0;  ///< of the models with fast weights
  bool convolution = false;       ///< on q, k, v
  std::vector<DemoRun> runs;      ///< LaCT with Muon first
  std::vector<int64_t> parameters;
  std::vector<tasks::lm::Recall> recalls;
  std::vector<tasks::lm::PositionLoss> losses;
  DemoSample sample;
  double seconds = 0;
};

/// Runs the commands, as many side by side as there are cores: at this size single threads do more work than
/// teams. Fills in what they report; the first that fails ends all, with what it said.
void train_demo(std::vector<DemoRun>& runs, int64_t steps);

/// A table and charts for the terminal.
std::string demo_text(const DemoResult& result);

/// report.html and result.json
void write_demo(const DemoResult& result, const std::string& folder);

}  // namespace lact::cli
