// The steps of experiments, each once, and which of them need which.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lact/reproduce/experiment.h"

namespace lact::reproduce {

class StepGraph {
 public:
  /// The steps of the chosen experiments and all that these need, which may stand in others of `all`. Throws
  /// a sentence for two different steps of one id, for needs that nobody has, and for steps that need each
  /// other.
  StepGraph(const std::vector<Experiment>& chosen, const std::vector<Experiment>& all);

  /// A step comes after those that it needs.
  size_t size() const { return steps_.size(); }
  const Step& step(size_t index) const { return steps_[index]; }
  const std::vector<size_t>& needs(size_t index) const { return needs_[index]; }
  bool has(const std::string& id) const { return index_.contains(id); }
  size_t index(const std::string& id) const { return index_.at(id); }

  /// All that the chosen experiment of that number takes, what its steps need included; in order.
  const std::vector<size_t>& steps_of(size_t experiment) const { return of_experiment_[experiment]; }

  /// Work of the longest chain of steps that begins with this one: nothing can end earlier.
  double chain(size_t index) const { return chains_[index]; }

 private:
  using Catalogue = std::map<std::string, Step>;
  static void add(Catalogue& catalogue, const Step& step);
  size_t visit(const std::string& id, const Catalogue& catalogue, std::vector<std::string>& path);
  void collect(size_t index, std::vector<bool>& wanted) const;

  std::vector<Step> steps_;
  std::vector<std::vector<size_t>> needs_, of_experiment_;
  std::vector<double> chains_;
  std::map<std::string, size_t> index_;
};

}  // namespace lact::reproduce
