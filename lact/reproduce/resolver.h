// What a step really is: its words with real folders, and the folder of its own, as soon as both are known.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lact/reproduce/results.h"
#include "lact/reproduce/step_folder.h"
#include "lact/reproduce/step_graph.h"

namespace lact::reproduce {

struct ResolvedStep {
  Words words;  ///< behind `lact`, with real folders and the threads of the step
  std::string key;
  StepFolder folder;

  /// As a user would type it.
  std::string command() const;
};

/// What words mean beyond themselves, as text: the fields of a preset that they name, say.
using Meaning = std::function<std::string(const Words& words)>;

class Resolver {
 public:
  /// The graph has to outlive it. `out`: the folder of the suite.
  Resolver(const StepGraph& graph, std::string out, Meaning meaning);

  /// Null where the words are chosen from results that are not there yet. Throws what `choose` throws, and a
  /// sentence where it names a step that it does not need.
  const ResolvedStep* resolve(size_t step, const Results& results);

 private:
  Words chosen_words(size_t step, const Results& results) const;

  const StepGraph& graph_;
  std::string out_;
  Meaning meaning_;
  std::vector<std::optional<ResolvedStep>> resolved_;
};

}  // namespace lact::reproduce
