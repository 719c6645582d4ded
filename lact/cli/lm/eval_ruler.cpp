#include "lact/base/error.h"
#include "lact/base/progress.h"
#include "lact/base/random.h"
#include "lact/cli/lm/eval.h"
#include "lact/tasks/lm/evaluation/ruler.h"
#include "lact/tasks/lm/session.h"

namespace lact::cli {

namespace ruler = tasks::lm::ruler;
using options::Json;

namespace {

/// Greedy, as RULER asks.
std::string predict(const tasks::lm::Loaded& lm, const std::string& prompt, int64_t answer_tokens) {
  models::GenerateOptions options;
  options.max_tokens = answer_tokens;
  options.sampling.temperature = 0;
  return tasks::lm::Session(lm).write(prompt, options).bytes;
}

/// Depth of the first needle in quarters of the context.
constexpr size_t kDepths = 4;

struct Cell {
  double score = 0;
  std::vector<double> by_depth;  ///< NaN where no needle was
};

Cell evaluate(const tasks::lm::Loaded& lm, const ruler::Task& task, const ruler::Material& material,
              int64_t length, const EvalArguments& arguments, const std::function<void()>& on_example) {
  const auto count_tokens = [&](const std::string& text) {
    return int64_t(lm.tokenizer->encode(text).size());
  };
  const auto examples =
      ruler::make_examples(task, material, length, arguments.examples, uint64_t(arguments.recall.seed),
                           count_tokens, arguments.answer_tokens);
  std::vector<double> scores;
  std::vector<std::vector<double>> by_depth(kDepths);
  for (const auto& example : examples) {
    scores.push_back(ruler::score(predict(lm, example.prompt, arguments.answer_tokens), example.answers));
    by_depth[std::min(kDepths - 1, size_t(example.depth * double(kDepths)))].push_back(scores.back());
    on_example();
  }
  Cell cell;
  cell.score = ruler::task_score(scores);
  for (const auto& group : by_depth) {
    cell.by_depth.push_back(group.empty() ? std::nan("") : ruler::task_score(group));
  }
  return cell;
}

}  // namespace

Evaluation evaluate_ruler(const std::vector<NamedLm>& models, const EvalArguments& arguments) {
  LACT_CHECK(arguments.examples >= 1 && arguments.answer_tokens >= 1,
             "[eval] examples {} and answer_tokens {}, expected at least 1", arguments.examples,
             arguments.answer_tokens);
  std::vector<ruler::Task> tasks;
  for (const auto& name : arguments.ruler_tasks) tasks.push_back(ruler::task(name));
  if (tasks.empty()) tasks = ruler::tasks();
  const ruler::Material material =
      ruler::read_material(arguments.haystack, arguments.adjectives, arguments.nouns);

  Evaluation result;
  result.json = {{"task", "ruler"}, {"examples", arguments.examples}, {"models", Json::array()}};
  const auto total = int64_t(models.size() * tasks.size() * arguments.lengths.size()) * arguments.examples;
  Progress progress("ruler", total);
  int64_t done = 0;
  for (const auto& [name, lm] : models) {
    Json rows = Json::array();
    result.table += fmt::format("{}\n{:<18}", name, "task");
    for (const int64_t length : arguments.lengths) result.table += fmt::format("{:>10}", length);
    result.table += "\n";
    eval::Plot plot{
        fmt::format("RULER retrieval, {}", name), "length, tokens", "score, %", {}, true, 0.0, 100.0};
    for (const auto& task : tasks) {
      result.table += fmt::format("{:<18}", task.short_name);
      eval::Series series{task.short_name, {}, {}};
      for (const int64_t length : arguments.lengths) {
        const Cell cell =
            evaluate(lm, task, material, length, arguments, [&] { progress.update(++done, task.name); });
        result.table += fmt::format("{:>10.2f}", cell.score);
        series.x.push_back(double(length));
        series.y.push_back(cell.score);
        Json depths = Json::array();
        for (const double value : cell.by_depth)
          depths.push_back(std::isnan(value) ? Json(nullptr) : Json(value));
        rows.push_back(
            {{"task", task.name}, {"length", length}, {"score", cell.score}, {"by_depth_quarter", depths}});
      }
      result.table += "\n";
      plot.series.push_back(series);
    }
    result.json["models"].push_back({{"name", name}, {"scores", rows}});
    result.plots["_" + name] = plot;
  }
  return result;
}

}  // namespace lact::cli
