// What finished steps left behind: their output, and what they wrote into their folders.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lact/base/options.h"
#include "lact/eval/training_curves.h"
#include "lact/reproduce/step.h"

namespace lact::reproduce {

/// One finished step.
struct StepResult {
  std::string folder;   ///< where it wrote
  std::string command;  ///< as a user would type it
  double seconds = 0;   ///< all its parts together
  std::string machine;  ///< the processor it ran on
};

class Results {
 public:
  void add(const std::string& id, StepResult result);
  bool has(const std::string& id) const;
  const StepResult& at(const std::string& id) const;  ///< throws a sentence for an id that is not finished

  /// What the step printed, as JSON (its words say --json). A broken or missing file is a sentence that names
  /// it.
  const options::Json& json(const std::string& id) const;
  /// A JSON file of its folder.
  options::Json file(const std::string& id, const std::string& name) const;
  /// The curves of a training (its words say -o @out): metrics.jsonl.
  const eval::Curves& curves(const std::string& id) const;
  /// The last value of a curve, such as "valid_loss".
  double last(const std::string& id, const std::string& field) const;

 private:
  std::map<std::string, StepResult> results_;
  mutable std::map<std::string, options::Json> json_;
  mutable std::map<std::string, eval::Curves> curves_;
};

}  // namespace lact::reproduce
