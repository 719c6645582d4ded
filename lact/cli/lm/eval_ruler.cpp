#include "lact/base/error.h"
#include "lact/base/progress.h"
#include "lact/cli/lm/eval.h"
#include "lact/tasks/lm/evaluation/ruler.h"

namespace lact::cli {

namespace ruler = tasks::lm::ruler;
using options::Json;

Evaluation evaluate_ruler(const std::vector<NamedLm>& models, const EvalArguments& arguments) {
  LACT_CHECK(arguments.examples >= 1 && arguments.answer_tokens >= 1,
             "[eval] examples {} and answer_tokens {}, expected at least 1", arguments.examples,
             arguments.answer_tokens);
  std::vector<ruler::Task> tasks;
  for (const auto& name : arguments.ruler_tasks) tasks.push_back(data::ruler::task(name));
  if (tasks.empty()) tasks = data::ruler::tasks();
  ruler::Material material =
      data::ruler::read_material(arguments.haystack, arguments.adjectives, arguments.nouns);
  material.part = data::ruler::Part::evaluation;

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
        const ruler::Options options = {length, arguments.examples, uint64_t(arguments.recall.seed),
                                        arguments.answer_tokens};
        const ruler::Result cell =
            ruler::evaluate(lm, task, material, options, [&] { progress.update(++done, task.name); });
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
