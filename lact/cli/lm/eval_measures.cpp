#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/progress.h"
#include "lact/cli/lm/eval.h"
#include "lact/data/text/text_file.h"
#include "lact/data/text/token_cache.h"

namespace lact::cli {

using options::Json;

Evaluation evaluate_loss(const std::vector<NamedLm>& models, const EvalArguments& arguments) {
  LACT_CHECK(!arguments.data.empty(), "[eval] --data is missing: loss is measured on text files");
  const auto files = data::find_text_files(arguments.data);
  std::vector<tasks::lm::PositionLoss> losses;
  for (const auto& [name, lm] : models) {
    const auto tokens = data::open_corpus(
        *lm.tokenizer, {files, "", [](const std::string& text) { log::info("{}", text); }, arguments.format});
    Progress progress(name, 0);
    losses.push_back(tasks::lm::position_loss(
        name, lm.model, *tokens, arguments.position,
        [&](int64_t done, int64_t total) { progress.update(done, fmt::format("of {} sequences", total)); }));
  }
  Evaluation result;
  result.table = fmt::format("{:>12}", "position");
  for (const auto& one : losses) result.table += fmt::format("  {:>16}", one.name);
  result.table += "\n";
  for (size_t i = 0; i < losses[0].end.size(); ++i) {
    result.table += fmt::format("{:>12}", losses[0].end[i]);
    for (const auto& one : losses) result.table += fmt::format("  {:>16.4f}", one.loss[i]);
    result.table += "\n";
  }
  result.table += fmt::format("{:>12}", "all");
  for (const auto& one : losses) result.table += fmt::format("  {:>16.4f}", one.mean);
  result.table += "\n";

  result.json = {{"task", "loss"}, {"length", arguments.position.length}, {"models", Json::array()}};
  for (const auto& one : losses) {
    result.json["models"].push_back({{"name", one.name},
                                     {"sequences", one.sequences},
                                     {"position", one.end},
                                     {"loss", one.loss},
                                     {"mean", one.mean}});
  }
  result.plots[""] = tasks::lm::position_loss_plot(losses);
  return result;
}

Evaluation evaluate_recall(const std::vector<NamedLm>& models, const EvalArguments& arguments) {
  std::vector<tasks::lm::Recall> recalls;
  for (const auto& [name, lm] : models) {
    recalls.push_back(
        tasks::lm::recall(name, *lm.model, *lm.tokenizer, arguments.recall_text, arguments.recall));
  }
  Evaluation result;
  result.json = {{"task", "recall"}, {"chance", recalls[0].chance}, {"models", Json::array()}};
  result.table = fmt::format("{:<20}{:>14}{:>10}{:>10}\n", "model", "distance", "asked", "right");
  for (const auto& one : recalls) {
    Json rows = Json::array();
    for (const auto& bucket : one.buckets) {
      rows.push_back({{"from", bucket.begin},
                      {"below", bucket.end},
                      {"asked", bucket.asked},
                      {"accuracy", bucket.accuracy()}});
      result.table += fmt::format("{:<20}{:>14}{:>10}{:>9.1f}%\n", one.name,
                                  fmt::format("{}-{}", bucket.begin, bucket.end - 1), bucket.asked,
                                  100 * bucket.accuracy());
    }
    result.json["models"].push_back({{"name", one.name}, {"by_distance", rows}});
  }
  result.table += fmt::format("chance is {:.1f}%\n", 100 * recalls[0].chance);
  result.plots[""] = tasks::lm::recall_plot(recalls, models[0].lm.model->config().window_size);
  return result;
}

}  // namespace lact::cli
