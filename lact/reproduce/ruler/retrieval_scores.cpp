#include <fmt/format.h>

#include <algorithm>

#include "lact/base/error.h"
#include "lact/reproduce/ruler/retrieval.h"

namespace lact::reproduce::ruler {

namespace {

using options::Json;

/// The mean score of one evaluation over the cells that were asked for; every one of them has to be there.
double mean_score(const Json& evaluation, const std::string& step, const std::vector<std::string>& tasks,
                  const std::vector<int64_t>& lengths) {
  double sum = 0;
  size_t found = 0;
  for (const auto& model : evaluation.value("models", Json::array())) {
    for (const auto& cell : model.value("scores", Json::array())) {
      if (std::find(tasks.begin(), tasks.end(), cell.value("task", "")) == tasks.end()) continue;
      if (std::find(lengths.begin(), lengths.end(), cell.value("length", int64_t(0))) == lengths.end())
        continue;
      LACT_CHECK(cell.contains("score") && cell["score"].is_number(),
                 "[reproduce] {}: a cell of {} has no number \"score\"", step, cell.value("task", ""));
      sum += cell["score"].get<double>();
      ++found;
    }
  }
  const size_t expected = tasks.size() * lengths.size();
  LACT_CHECK(found == expected, "[reproduce] {}: has {} scores of these tasks and lengths, expected {}", step,
             found, expected);
  return sum / double(expected);
}

}  // namespace

Sample scores(const Results& results, const Size& size, const Contender& contender,
              const std::vector<std::string>& tasks, const std::vector<int64_t>& lengths) {
  Sample sample{contender.name, {}};
  for (int64_t seed = 1; seed <= size.seeds; ++seed) {
    const std::string id = scores_id(contender, seed);
    sample.values.push_back(mean_score(results.json(id), id, tasks, lengths));
  }
  return sample;
}

}  // namespace lact::reproduce::ruler
