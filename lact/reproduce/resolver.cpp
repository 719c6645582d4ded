#include "lact/reproduce/resolver.h"

#include <algorithm>

#include "lact/base/error.h"
#include "lact/reproduce/step_words.h"

namespace lact::reproduce {

namespace {

/// Steps that share the machine have a core each: two runs with a thread each do more work than one with two.
/// `lact launch` shares cores out among its processes itself.
Words with_threads(const Step& step, Words words) {
  const bool given = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "--threads" || word.starts_with("--threads=");
  });
  if (!step.alone && !given && !words.empty() && words.front() != "launch")
    words.insert(words.begin(), {"--threads", "1"});
  return words;
}

}  // namespace

std::string ResolvedStep::command() const { return "lact " + shell_line(words); }

Resolver::Resolver(const StepGraph& graph, std::string out, Meaning meaning)
    : graph_(graph), out_(std::move(out)), meaning_(std::move(meaning)), resolved_(graph.size()) {}

const ResolvedStep* Resolver::resolve(size_t step, const Results& results) {
  if (resolved_[step]) return &*resolved_[step];
  const Step& own = graph_.step(step);
  for (const size_t need : graph_.needs(step)) {
    if (own.choose && !results.has(graph_.step(need).id)) return nullptr;
    if (resolve(need, results) == nullptr) return nullptr;
  }
  const Words words = own.choose ? chosen_words(step, results) : own.words;
  LACT_CHECK(!words.empty(), "[reproduce] step {} has no words", own.id);
  const auto is_step = [&](const std::string& id) { return graph_.has(id); };
  const auto other = [&](const std::string& id) -> const ResolvedStep& {
    return *resolved_[graph_.index(id)];
  };
  // Where the suite's folder lies does not matter, nor how the step is called.
  const Words hashed = with_places(words, is_step, [&](const std::string& id) {
    return id == kOwnFolder ? "@" + id : "@" + other(id).key;
  });
  const std::string key = step_key(with_threads(own, hashed), meaning_ ? meaning_(words) : "");
  const StepFolder folder(out_, own.id, key);
  const Words real = with_places(words, is_step, [&](const std::string& id) {
    return id == kOwnFolder ? folder.path() : other(id).folder.path();
  });
  resolved_[step] = ResolvedStep{with_threads(own, real), key, folder};
  return &*resolved_[step];
}

Words Resolver::chosen_words(size_t step, const Results& results) const {
  const Step& own = graph_.step(step);
  Words words = own.choose(results);
  const auto& needs = graph_.needs(step);
  const auto is_step = [&](const std::string& id) { return graph_.has(id); };
  for (const auto& id : named_steps(words, is_step))
    LACT_CHECK(std::count(needs.begin(), needs.end(), graph_.index(id)) > 0,
               "[reproduce] the words that step {} chose name {}, which is not among its needs", own.id, id);
  return words;
}

}  // namespace lact::reproduce
