// What the commands said.
#include <fmt/format.h>

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/reproduce/views/runs.h"

namespace lact::reproduce::views {

using options::Json;

namespace {

double number_in(const Json& json, const char* field, const std::string& id) {
  const auto found = json.find(field);
  LACT_CHECK(found != json.end() && found->is_number(), "{}: its result has no number {}", id, field);
  return found->get<double>();
}

/// Of the summaries of one `lact nvs eval`: the mean of a model that has read so many views.
double mean_psnr(const Json& json, const std::string& model, int64_t count, const std::string& id) {
  const auto means = json.find("means");
  LACT_CHECK(means != json.end() && means->is_array(), "{}: its result has no list of means", id);
  double sum = 0;
  int64_t groups = 0;
  for (const Json& one : *means) {
    if (one.value("model", "") != model || one.value("inputs", int64_t(-1)) != count) continue;
    sum += number_in(one, "psnr", id);
    ++groups;
  }
  LACT_CHECK(groups > 0, "{}: its result says nothing about {} from {} views", id, model, count);
  return sum / double(groups);
}

}  // namespace

Sample test_psnr(const Comparison& comparison, const Contender& contender, int64_t count,
                 const Results& results) {
  Sample sample = {contender.label, {}};
  for (int64_t seed = 1; seed <= comparison.setting.seeds; ++seed) {
    const std::string id = test_id(comparison, seed);
    sample.values.push_back(mean_psnr(results.json(id), contender.id, count, id));
  }
  return sample;
}

void add_point(Line& line, double x, const Sample& sample) {
  line.x.push_back(x);
  line.y.push_back(sample.mean());
  if (sample.values.size() < 2) return;
  line.low.push_back(sample.mean() - sample.deviation());
  line.high.push_back(sample.mean() + sample.deviation());
}

Chart psnr_chart(const Comparison& comparison, const std::string& title, const Results& results) {
  Chart chart = {title, "views that are read", "PSNR in dB", true, {}};
  for (const Contender& contender : comparison.contenders) {
    Line line;
    line.name = contender.label;
    for (const int64_t count : comparison.counts)
      add_point(line, double(count), test_psnr(comparison, contender, count, results));
    chart.lines.push_back(line);
  }
  return chart;
}

Table contender_table(const Comparison& comparison, int64_t count, const Results& results) {
  Table table = {"What was compared",
                 {"contender", "parameters", "state of a block", "tokens", "tokens/s", "rate",
                  fmt::format("PSNR from {} views", count)},
                 {}};
  for (const Contender& contender : comparison.contenders) {
    const Json& info = results.json(info_id(contender));
    const std::string first = training_id(contender, 1);
    // Full attention keeps every token, and a Perceiver or Long-LRM no state of single blocks.
    const auto squares = info.find("state_per_block_d2");
    const bool has_state = squares != info.end() && squares->is_number() && squares->get<double>() > 0;
    table.rows.push_back({contender.label, format_count(number_in(info, "parameters", info_id(contender))),
                          has_state ? fmt::format("{:g} d²", squares->get<double>()) : "-",
                          format_count(results.last(first, "tokens")),
                          format_count(results.last(first, "tokens_per_second")),
                          best_rate(comparison.setting, contender, results),
                          test_psnr(comparison, contender, count, results).text()});
  }
  return table;
}

std::vector<std::string> common_notes(const Comparison& comparison, const Results& results) {
  const Setting& setting = comparison.setting;
  const Json& info = results.json(info_id(comparison.contenders.front()));
  return {
      fmt::format("{} blocks of width {}, pictures of {} x {} pixels, {} views are read in training and {} "
                  "others are "
                  "guessed, {} scenes a step, {} steps: every scene is made up and seen once.",
                  int64_t(number_in(info, "num_layers", "info")),
                  int64_t(number_in(info, "model_dim", "info")), setting.size, setting.size, setting.inputs,
                  setting.targets, setting.batch, setting.steps),
      fmt::format(
          "PSNR is the mean over {} unseen scenes and 8 views of each, the same ones for all contenders and "
          "seeds; a seed stands for initial weights and training scenes.",
          setting.test_scenes),
      "The paper trains models of width 768 on 256 x 256 pixels and more, with 167 billion tokens and more."};
}

}  // namespace lact::reproduce::views
