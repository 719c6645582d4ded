#include <fmt/format.h>

#include <cmath>
#include <map>

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/reproduce/text/trainings.h"

namespace lact::reproduce::text {

namespace {

using options::Json;

/// Mean over the buckets of a quarter of the positions, the first or the last.
double quarter(const Json& model, bool last) {
  const auto losses = model.at("loss").get<std::vector<double>>();
  LACT_CHECK(!losses.empty(), "[reproduce] an evaluation has no losses");
  const size_t count = std::max<size_t>(1, losses.size() / 4);
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += losses[last ? losses.size() - 1 - i : i];
  return sum / double(count);
}

Sample quarters(const Json& evaluation, const Contender& one, bool last) {
  Sample sample{one.name, {}};
  for (const auto& model : evaluation.at("models")) sample.values.push_back(quarter(model, last));
  return sample;
}

/// A line of means, and of the deviations of the seeds around them.
Line line_of(const std::string& name, const std::map<double, std::vector<double>>& by_place) {
  Line line{name, {}, {}, {}, {}};
  for (const auto& [place, values] : by_place) {
    const Sample sample{name, values};
    line.x.push_back(place);
    line.y.push_back(sample.mean());
    if (values.size() < 2) continue;
    line.low.push_back(sample.mean() - sample.deviation());
    line.high.push_back(sample.mean() + sample.deviation());
  }
  // A place that only some seeds have been asked about has no spread: then none is shown.
  if (line.low.size() != line.y.size()) line.low.clear(), line.high.clear();
  return line;
}

double share_right(const Json& model, int64_t from) {
  double asked = 0, right = 0;
  for (const auto& bucket : model.at("by_distance")) {
    if (bucket.at("from").get<int64_t>() < from) continue;
    const auto count = bucket.at("asked").get<double>();
    asked += count;
    right += count * bucket.at("accuracy").get<double>();
  }
  return asked > 0 ? right / asked : 0;
}

}  // namespace

Sample Trainings::last_quarter(const Results& results, const Contender& one) const {
  return quarters(results.json(id(one, "loss")), one, /*last=*/true);
}

Sample Trainings::first_quarter(const Results& results, const Contender& one) const {
  return quarters(results.json(id(one, "loss")), one, /*last=*/false);
}

Sample Trainings::recall(const Results& results, const Contender& one, int64_t from) const {
  Sample sample{one.name, {}};
  for (const auto& model : results.json(id(one, "recall")).at("models"))
    sample.values.push_back(share_right(model, from));
  return sample;
}

int64_t Trainings::parameters(const Results& results, const Contender& one) const {
  return results.json(id(one, "info")).at("parameters").get<int64_t>();
}

int64_t Trainings::state(const Results& results, const Contender& one) const {
  return results.json(id(one, "info")).at("state").get<int64_t>();
}

Chart Trainings::loss_chart(const Results& results) const {
  Chart chart{"Loss against position", "position, tokens", "loss, nats per token", false, {}};
  for (const auto& one : all_) {
    std::map<double, std::vector<double>> by_place;
    for (const auto& model : results.json(id(one, "loss")).at("models")) {
      const auto places = model.at("position").get<std::vector<double>>();
      const auto losses = model.at("loss").get<std::vector<double>>();
      for (size_t i = 0; i < std::min(places.size(), losses.size()); ++i)
        by_place[places[i]].push_back(losses[i]);
    }
    chart.lines.push_back(line_of(one.name, by_place));
  }
  return chart;
}

Chart Trainings::recall_chart(const Results& results) const {
  Chart chart{
      "Recall against distance", "tokens since the last mention, at least", "right answers, %", true, {}};
  for (const auto& one : all_) {
    std::map<double, std::vector<double>> by_place;
    for (const auto& model : results.json(id(one, "recall")).at("models")) {
      for (const auto& bucket : model.at("by_distance"))
        by_place[bucket.at("from").get<double>()].push_back(100 * bucket.at("accuracy").get<double>());
    }
    chart.lines.push_back(line_of(one.name, by_place));
  }
  return chart;
}

Table Trainings::summary(const Results& results, bool with_recall) const {
  Table table{"Loss of the last quarter of positions", {"", "loss", "parameters", "state"}, {}};
  if (with_recall) table.header.insert(table.header.begin() + 2, "right beyond the window");
  for (const auto& one : all_) {
    std::vector<std::string> row = {one.name, last_quarter(results, one).text()};
    if (with_recall) row.push_back(recall(results, one, setting_.window).text());
    row.push_back(std::to_string(parameters(results, one)));
    row.push_back(std::to_string(state(results, one)));
    table.rows.push_back(row);
  }
  return table;
}

Table Trainings::rate_table(const Results& results) const {
  Table table{
      fmt::format("Validation loss after {} steps, by rate; the best one is taken", setting_.sweep_steps),
      {""},
      {}};
  if (setting_.rates.size() == 1) {
    table.title = "Rate: one, for all";
    table.header.push_back(setting_.rates.front());
    return table;
  }
  for (const auto& rate : setting_.rates) table.header.push_back(rate);
  table.header.push_back("taken");
  for (const auto& one : all_) {
    std::vector<std::string> row = {one.name};
    for (const auto& rate : setting_.rates)
      row.push_back(fmt::format("{:.3f}", results.last(sweep_id(one, rate), "valid_loss")));
    row.push_back(best_rate(results, one));
    table.rows.push_back(row);
  }
  return table;
}

std::vector<std::string> Trainings::notes(const Results& results) const {
  LACT_CHECK(!all_.empty(), "[reproduce] there is nobody to compare");
  const auto run = results.file(train_id(all_.front(), 1), "run.json");
  const auto& batches = run.at("batches");
  const auto& text = run.at("data").at("recall");
  const auto& model = run.at("model");
  const int64_t steps = run.at("training").at("steps").get<int64_t>();
  const int64_t tokens = steps * batches.at("batch").get<int64_t>() * batches.at("length").get<int64_t>();
  int64_t least = parameters(results, all_.front()), most = least;
  for (const auto& one : all_) {
    least = std::min(least, parameters(results, one));
    most = std::max(most, parameters(results, one));
  }
  return {
      fmt::format(
          "Generated text: {} facts of {} names and {} things, bound anew in each document; a word is "
          "a token. Only the thing behind a name that was told before can be known; losses differ by what "
          "is remembered.",
          text.at("facts").get<int64_t>(), text.at("names").get<int64_t>(), text.at("things").get<int64_t>()),
      fmt::format(
          "Each model: {} block(s) of width {}, window and chunk of {} tokens, convolution of width {} "
          "on q, k, v (the paper has none; all contenders have it).",
          model.at("num_layers").get<int64_t>(), model.at("model_dim").get<int64_t>(),
          model.at("chunk_size").get<int64_t>(),
          model.at("layer").at("projection").at("conv_width").get<int64_t>()),
      fmt::format("Parameters: {} to {}; each training reads {} tokens ({} steps) in sequences of {}, in the "
                  "same order for the same seed. Measured on {} documents of {} tokens.",
                  least, most, tokens, steps, batches.at("length").get<int64_t>(), setting_.documents,
                  setting_.valid_length)};
}

void Trainings::show_losses(const Results& results, Section& section) const {
  section.charts = {loss_chart(results)};
  section.tables = {summary(results, false), rate_table(results)};
  section.notes = notes(results);
}

}  // namespace lact::reproduce::text
