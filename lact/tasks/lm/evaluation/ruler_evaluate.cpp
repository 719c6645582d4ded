#include <algorithm>
#include <cmath>

#include "lact/tasks/lm/evaluation/ruler.h"
#include "lact/tasks/lm/session.h"

namespace lact::tasks::lm::ruler {

namespace {

constexpr size_t kDepthBands = 4;

std::string greedy_answer(const Loaded& lm, const std::string& prompt, int64_t answer_tokens) {
  models::GenerateOptions options;
  options.max_tokens = answer_tokens;
  options.sampling.temperature = 0;
  return Session(lm).write(prompt, options).bytes;
}

}  // namespace

Result evaluate(const Loaded& lm, const Task& task, const Material& material, const Options& options,
                const std::function<void()>& on_example) {
  const auto count_tokens = [&](const std::string& text) {
    return int64_t(lm.tokenizer->encode(text).size());
  };
  const auto examples = data::ruler::make_examples(task, material, options.length, options.examples,
                                                   options.seed, count_tokens, options.answer_tokens);
  std::vector<double> scores;
  std::vector<std::vector<double>> by_depth(kDepthBands);
  for (const auto& example : examples) {
    scores.push_back(score(greedy_answer(lm, example.prompt, options.answer_tokens), example.answers));
    by_depth[std::min(kDepthBands - 1, size_t(example.depth * double(kDepthBands)))].push_back(scores.back());
    if (on_example) on_example();
  }
  Result result;
  result.score = task_score(scores);
  for (const auto& group : by_depth) {
    result.by_depth.push_back(group.empty() ? std::nan("") : task_score(group));
  }
  return result;
}

}  // namespace lact::tasks::lm::ruler
