#include "recall/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace recall {

namespace {

std::string range(const Bucket& bucket) {
  return bucket.end == bucket.begin + 1 ? fmt::format("{}", bucket.begin)
                                        : fmt::format("{}-{}", bucket.begin, bucket.end - 1);
}

/// The mean of each few steps: a curve instead of a band of noise.
lact::eval::Series smoothed(const Outcome& outcome) {
  constexpr size_t kSteps = 10;
  lact::eval::Series series{outcome.contender.name, {}, {}};
  for (size_t begin = 0; begin + kSteps <= outcome.losses.size(); begin += kSteps) {
    double sum = 0;
    for (size_t i = begin; i < begin + kSteps; ++i) sum += outcome.losses[i];
    series.x.push_back(double(begin + kSteps));
    series.y.push_back(sum / kSteps);
  }
  return series;
}

}  // namespace

std::vector<Bucket> buckets(const Task& task) {
  std::vector<Bucket> list;
  for (int64_t begin = 1; begin < task.tokens; begin *= 2)
    list.push_back({begin, std::min(2 * begin, task.tokens)});
  return list;
}

std::string Report::table() const {
  std::string text = fmt::format("{:>16}", "distance");
  for (const auto& outcome : outcomes) text += fmt::format("  {:>{}}", outcome.contender.name, 23);
  text += "\n";
  for (const auto& bucket : buckets(task)) {
    text += fmt::format("{:>16}", range(bucket));
    for (const auto& outcome : outcomes) {
      text += fmt::format("  {:>22.1f}%", 100 * outcome.recall.accuracy(bucket.begin, bucket.end));
    }
    if (bucket.begin < shape.window && shape.window <= bucket.end) {
      text += fmt::format("\n{:->16}  beyond the window of {} tokens", "", shape.window);
    }
    text += "\n";
  }
  return text + fmt::format("{:>16}  {:.1f}%\n", "chance", 100 * task.chance());
}

lact::eval::Plot Report::recall_plot() const {
  lact::eval::Plot plot;
  plot.title = fmt::format("Recall of a pair told long ago; attention sees {} tokens", shape.window);
  plot.x_label = "tokens between telling and asking, from x to 2x";
  plot.y_label = "right answers, %";
  plot.log_x = true;
  plot.y_min = 0, plot.y_max = 100;
  for (const auto& outcome : outcomes) {
    lact::eval::Series series{outcome.contender.name, {}, {}};
    for (const auto& [begin, end] : buckets(task)) {
      series.x.push_back(double(begin));
      series.y.push_back(100 * outcome.recall.accuracy(begin, end));
    }
    plot.series.push_back(std::move(series));
  }
  const double last = double(buckets(task).back().begin), chance = 100 * task.chance();
  plot.series.push_back({"chance", {1, last}, {chance, chance}, /*dashed=*/true});
  return plot;
}

lact::eval::Series Report::window_line() const {
  const double window = double(shape.window);
  return {
      fmt::format("end of the window, {} tokens", shape.window), {window, window}, {0, 100}, /*dashed=*/true};
}

lact::eval::Plot Report::training_plot() const {
  lact::eval::Plot plot;
  plot.title = "Training";
  plot.x_label = "step";
  plot.y_label = "loss, nats per answer";
  plot.y_min = 0;
  for (const auto& outcome : outcomes) plot.series.push_back(smoothed(outcome));
  return plot;
}

std::string Report::json() const {
  using Json = nlohmann::ordered_json;
  Json json = {{"tokens", task.tokens},   {"pairs", task.pairs()},      {"keys", task.keys},
               {"values", task.values},   {"window", shape.window},     {"model_dim", shape.model_dim},
               {"steps", training.steps}, {"batch", training.batch},    {"seed", training.seed},
               {"chance", task.chance()}, {"contenders", Json::array()}};
  for (const auto& outcome : outcomes) {
    Json rows = Json::array();
    for (const auto& [begin, end] : buckets(task)) {
      rows.push_back({{"begin", begin}, {"end", end}, {"accuracy", outcome.recall.accuracy(begin, end)}});
    }
    json["contenders"].push_back({{"name", outcome.contender.slug},
                                  {"parameters", outcome.parameters},
                                  {"seconds", outcome.seconds},
                                  {"recall", rows},
                                  {"losses", outcome.losses}});
  }
  return json.dump(1) + "\n";
}

}  // namespace recall
