#include <algorithm>
#include <cmath>
#include <numeric>

#include "lact/base/error.h"
#include "lact/tasks/lm/evaluation/ruler.h"

namespace lact::tasks::lm::ruler {

namespace {

/// Lower case, and a newline for each control character.
std::string normalise(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = '\n';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace

double score(const std::string& prediction, const std::vector<std::string>& answers) {
  LACT_CHECK(!answers.empty(), "an example without answers cannot be scored");
  // Blanks around the prediction need no care: no answer begins or ends with one.
  const std::string said = normalise(prediction);
  const auto found = std::count_if(answers.begin(), answers.end(), [&](const std::string& answer) {
    return said.find(normalise(answer)) != std::string::npos;
  });
  return static_cast<double>(found) / static_cast<double>(answers.size());
}

double task_score(const std::vector<double>& scores) {
  LACT_CHECK(!scores.empty(), "the score of a task needs at least one example");
  const double mean = std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size());
  return std::round(mean * 1e4) / 1e2;
}

}  // namespace lact::tasks::lm::ruler
