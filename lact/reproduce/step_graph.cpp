#include "lact/reproduce/step_graph.h"

#include <algorithm>

#include "lact/base/error.h"
#include "lact/reproduce/step_words.h"

namespace lact::reproduce {

namespace {

bool alike(const Step& one, const Step& other) {
  return one.words == other.words && one.needs == other.needs && one.alone == other.alone &&
         bool(one.choose) == bool(other.choose);
}

std::string shown_step(const Step& step) {
  return step.choose ? "words chosen after " + shell_line(step.needs) : shell_line(step.words);
}

}  // namespace

StepGraph::StepGraph(const std::vector<Experiment>& chosen, const std::vector<Experiment>& all) {
  Catalogue catalogue;
  for (const auto* experiments : {&chosen, &all})
    for (const auto& experiment : *experiments)
      for (const auto& step : experiment.steps) add(catalogue, step);
  for (const auto& experiment : chosen)
    for (const auto& step : experiment.steps) {
      std::vector<std::string> path;
      visit(step.id, catalogue, path);
    }
  for (const auto& experiment : chosen) {
    std::vector<bool> wanted(size(), false);
    for (const auto& step : experiment.steps) collect(index(step.id), wanted);
    of_experiment_.emplace_back();
    for (size_t i = 0; i < size(); ++i)
      if (wanted[i]) of_experiment_.back().push_back(i);
  }
  chains_.assign(size(), 0);
  for (size_t i = size(); i-- > 0;) {
    chains_[i] += steps_[i].work;
    for (const size_t need : needs_[i]) chains_[need] = std::max(chains_[need], chains_[i]);
  }
}

void StepGraph::add(Catalogue& catalogue, const Step& step) {
  LACT_CHECK(
      !step.id.empty() && step.id != kOwnFolder && std::all_of(step.id.begin(), step.id.end(), is_id_letter),
      "[reproduce] a step is called \"{}\", expected letters, digits, '_', '-' and '.', and not \"{}\"",
      step.id, kOwnFolder);
  LACT_CHECK(step.work > 0, "[reproduce] the work of step {} is {}, expected more than 0", step.id,
             step.work);
  const auto [found, is_new] = catalogue.emplace(step.id, step);
  if (is_new) return;
  LACT_CHECK(alike(found->second, step), "[reproduce] two different steps are called {}: {}, and {}", step.id,
             shown_step(found->second), shown_step(step));
  found->second.work = std::max(found->second.work, step.work);
}

size_t StepGraph::visit(const std::string& id, const Catalogue& catalogue, std::vector<std::string>& path) {
  if (const auto known = index_.find(id); known != index_.end()) return known->second;
  const bool again = std::count(path.begin(), path.end(), id) > 0;
  path.push_back(id);
  LACT_CHECK(!again, "[reproduce] steps need each other in a circle: {}", fmt::join(path, ", "));
  const Step& step = catalogue.at(id);
  std::vector<std::string> names = step.needs;
  const auto is_step = [&](const std::string& name) { return catalogue.contains(name); };
  for (const auto& name : names)
    LACT_CHECK(is_step(name), "[reproduce] step {} needs {}, which is no step", id, name);
  try {
    for (auto& name : named_steps(step.words, is_step)) names.push_back(std::move(name));
  } catch (const Error& error) {
    fail("{}, in the words of step {}", error.what(), id);
  }
  std::vector<size_t> needs;
  for (const auto& name : names) needs.push_back(visit(name, catalogue, path));
  std::sort(needs.begin(), needs.end());
  needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
  path.pop_back();
  steps_.push_back(step);
  needs_.push_back(std::move(needs));
  return index_[id] = size() - 1;
}

void StepGraph::collect(size_t index, std::vector<bool>& wanted) const {
  if (wanted[index]) return;
  wanted[index] = true;
  for (const size_t need : needs_[index]) collect(need, wanted);
}

}  // namespace lact::reproduce
