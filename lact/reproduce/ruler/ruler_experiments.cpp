// The paper's tables of RULER: small models of each kind, trained on needle tasks and asked for keys and
// values that training never held.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "lact/reproduce/experiment.h"
#include "lact/reproduce/ruler/paper_scores.h"
#include "lact/reproduce/ruler/retrieval.h"

namespace lact::reproduce {

namespace {

using namespace ruler;  // the contenders and their scores

struct TaskName {
  std::string name, short_name;
};

/// What one of the two tables is about.
struct TableOf {
  std::string id, title, claim;
  std::vector<TaskName> tasks;
  Needles needles;
};

std::vector<std::string> names(const std::vector<TaskName>& tasks) {
  std::vector<std::string> all;
  for (const auto& task : tasks) all.push_back(task.name);
  return all;
}

std::string cell(const Sample& sample) {
  return sample.values.size() > 1 ? fmt::format("{:.1f} ± {:.1f}", sample.mean(), sample.deviation())
                                  : fmt::format("{:.1f}", sample.mean());
}

/// The paper's layout: tasks side by side, each with its lengths, and their average.
Table score_table(const Results& results, const Size& size, const TableOf& about) {
  Table table{"Right answers, %", {"Model"}, {}};
  std::vector<std::vector<std::string>> columns;
  for (const auto& task : about.tasks) columns.push_back({task.name});
  columns.push_back(names(about.tasks));
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string name = i < about.tasks.size() ? about.tasks[i].short_name : "Average";
    for (const int64_t length : size.lengths) table.header.push_back(fmt::format("{} {}", name, length));
  }
  for (const auto& contender : contenders()) {
    std::vector<std::string> row = {contender.name};
    for (const auto& tasks : columns) {
      for (const int64_t length : size.lengths)
        row.push_back(cell(scores(results, size, contender, tasks, {length})));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table rate_table(const Results& results, const Size& size) {
  Table table{"Rates: loss on the answers of unseen examples, seed 1", {"Model"}, {}};
  for (const auto& rate : size.rates) table.header.push_back("rate " + rate);
  table.header.push_back("chosen");
  for (const auto& contender : contenders()) {
    std::vector<std::string> row = {contender.name};
    for (const auto& rate : size.rates)
      row.push_back(fmt::format("{:.3f}", results.last(sweep_id(contender, rate), "valid_loss")));
    row.push_back(best_rate(results, size, contender));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Chart chart(const Results& results, const Size& size, const std::string& title,
            const std::vector<std::string>& tasks) {
  Chart chart{title, "length, tokens", "right answers, %", true, {}};
  for (const auto& contender : contenders()) {
    Line line;
    line.name = contender.name;
    for (const int64_t length : size.lengths) {
      const Sample sample = scores(results, size, contender, tasks, {length});
      line.x.push_back(double(length));
      line.y.push_back(sample.mean());
      if (sample.values.size() < 2) continue;
      line.low.push_back(sample.mean() - sample.deviation());
      line.high.push_back(sample.mean() + sample.deviation());
    }
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

/// Where no model has learnt the tasks there is nothing to compare, whatever the order of the failures is.
Finding unless_nobody_learnt(Finding finding, const std::vector<Sample>& compared) {
  constexpr double kLeast = 10;  // per cent
  double best = 0;
  for (const auto& sample : compared) best = std::max(best, sample.mean());
  finding.rule += fmt::format(" Where none of the two is right in {:.0f}% it is inconclusive.", kLeast);
  if (best >= kLeast) return finding;
  finding.because += fmt::format(" None has learnt these tasks: the better one is right in {:.1f}%.", best);
  finding.verdict = Verdict::inconclusive;
  return finding;
}

std::vector<Finding> findings(const Results& results, const Size& size, const TableOf& about) {
  const auto tasks = names(about.tasks);
  const auto score = [&](const std::string& id, const std::vector<int64_t>& lengths) {
    const auto& all = contenders();
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.id == id; });
    return scores(results, size, *found, tasks, lengths);
  };
  // Beyond the window, where the memory is needed, and not beyond what training has shown.
  std::vector<int64_t> trained;
  for (const int64_t length : size.lengths)
    if (length <= size.length) trained.push_back(length);
  const Sample muon = score("lact_muon", trained);
  std::vector<Finding> found;
  const auto compare = [&](const std::string& statement, const Sample& other) {
    found.push_back(unless_nobody_learnt(beats(statement, muon, other, Direction::higher), {muon, other}));
  };
  compare("LaCT with Muon is right more often than GLA", score("gla", trained));
  compare("LaCT with Muon is right more often than DeltaNet", score("deltanet", trained));
  compare("LaCT with Muon is right more often than LaCT with momentum", score("lact_momentum", trained));
  const std::vector<int64_t> shortest = {size.lengths.front()};
  const Sample full = score("full", shortest), ours = score("lact_muon", shortest);
  found.push_back(unless_nobody_learnt(
      comparable(
          fmt::format("LaCT with Muon comes close to full attention at the shortest length ({} tokens)",
                      shortest[0]),
          ours, full, Direction::higher, 0.1),
      {ours, full}));
  return found;
}

std::vector<std::string> notes(const Results& results, const Size& size) {
  std::vector<std::string> parameters;
  for (const auto& contender : contenders()) {
    const auto info = results.json(info_id(contender));
    parameters.push_back(fmt::format("{} {}", contender.name, info.at("parameters").get<int64_t>()));
  }
  return {
      fmt::format("Parameters: {}. {} blocks of width {}; chunks and windows of {} tokens. All have a "
                  "convolution over 4 tokens on q, k, v, which the paper's layer does not have and without "
                  "which models of this size learn to retrieve only in many more steps.",
                  fmt::join(parameters, ", "), size.layers, size.width, size.chunk),
      fmt::format(
          "Each training reads {} tokens: {} steps of {} sequences of {} tokens, filled with examples "
          "of {} tokens and more of all six tasks. The loss counts questions and answers only.",
          size.steps * size.batch * size.length, size.steps, size.batch, size.length,
          size.shortest == 0 ? size.length : size.shortest),
      "Training and evaluation share no key and no value: one in four of all keys and values, by a hash of "
      "the "
      "text, is kept for evaluation. Both hide needles in the same generated prose; training begins at a "
      "sentence anywhere in it, evaluation at its beginning, as RULER does.",
      fmt::format("{} examples per task and length, answered greedily; a length includes {} tokens for the "
                  "answer. Lengths above {} are longer than anything that was trained on.",
                  size.examples, size.answer_tokens, size.length),
      "The training of the best rate with seed 1 is one of the seeds.",
      "The paper's models were trained on books and code and met these questions only when they were "
      "evaluated; models of this size need to be trained on them."};
}

Section section(const Results& results, const Size& size, const TableOf& about) {
  Section made;
  made.claim = about.claim;
  made.paper = paper_averages(about.needles);
  made.findings = findings(results, size, about);
  made.charts.push_back(chart(results, size, "Average of " + about.title, names(about.tasks)));
  for (const auto& task : about.tasks)
    made.charts.push_back(chart(results, size, task.short_name, {task.name}));
  made.tables.push_back(score_table(results, size, about));
  made.tables.push_back(paper_table(about.needles));
  made.tables.push_back(rate_table(results, size));
  made.notes = notes(results, size);
  return made;
}

Experiment experiment(const Plan& plan, const TableOf& about) {
  return {about.id, "RULER: " + about.title, steps(plan),
          [size = size(plan), about](const Results& results) { return section(results, size, about); }};
}

}  // namespace

std::vector<Experiment> ruler_experiments(const Plan& plan) {
  return {
      experiment(
          plan,
          {"tab_ruler_single",
           "single needles",
           "LaCT finds a single needle more often than GLA and DeltaNet, and with Muon more "
           "often than with momentum.",
           {{"niah_single_1", "S-NIAH-1"}, {"niah_single_2", "S-NIAH-2"}, {"niah_single_3", "S-NIAH-3"}},
           Needles::single}),
      experiment(
          plan,
          {"tab_ruler_multi",
           "several needles",
           "LaCT tells several needles apart better than GLA and DeltaNet, and with Muon "
           "better than with momentum at longer lengths.",
           {{"niah_multikey_1", "MK-NIAH"}, {"niah_multiquery", "MQ-NIAH"}, {"niah_multivalue", "MV-NIAH"}},
           Needles::several})};
}

}  // namespace lact::reproduce
