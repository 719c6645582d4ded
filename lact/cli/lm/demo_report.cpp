#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/ranges.h>

#include "lact/base/format.h"
#include "lact/base/json_text.h"
#include "lact/base/terminal.h"
#include "lact/cli/lm/demo.h"
#include "lact/eval/html_report.h"
#include "lact/io/atomic_file.h"

namespace lact::cli {

using options::Json;

namespace {

/// Distances from here on are far: nothing of them is left in the window, nor in a chunk that is not written.
int64_t far_from(const DemoResult& result) { return 2 * result.window; }

std::vector<std::vector<std::string>> recall_rows(const DemoResult& result) {
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < result.recalls[0].buckets.size(); ++i) {
    const auto& bucket = result.recalls[0].buckets[i];
    std::vector<std::string> row = {fmt::format("{}-{}", bucket.begin, bucket.end - 1),
                                    std::to_string(bucket.asked)};
    for (const auto& one : result.recalls)
      row.push_back(fmt::format("{:.1f}%", 100 * one.buckets[i].accuracy()));
    rows.push_back(row);
  }
  std::vector<std::string> all = {fmt::format("{} or more (2 windows)", far_from(result)),
                                  std::to_string(result.recalls[0].beyond(far_from(result)).asked)};
  for (const auto& one : result.recalls)
    all.push_back(fmt::format("{:.1f}%", 100 * one.beyond(far_from(result)).accuracy()));
  rows.push_back(all);
  return rows;
}

std::vector<std::string> recall_header(const DemoResult& result) {
  std::vector<std::string> header = {"distance, tokens", "asked"};
  for (const auto& one : result.recalls) header.push_back(one.name);
  return header;
}

/// The loss of each recorded step.
eval::Plot training_plot(const DemoResult& result) {
  eval::Plot plot;
  plot.title = "Training";
  plot.x_label = "step";
  plot.y_label = "loss, nats per token";
  for (const auto& run : result.runs) {
    eval::Series series{run.name, {}, {}};
    std::ifstream lines(std::filesystem::path(run.folder) / "metrics.jsonl");
    for (std::string line; std::getline(lines, line);) {
      const Json json = try_parse_json(line).value_or(nullptr);
      if (!json.is_object() || !json.contains("loss")) continue;
      series.x.push_back(json["step"].get<double>());
      series.y.push_back(json["loss"].get<double>());
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

std::string summary(const DemoResult& result) {
  std::vector<std::string> right;
  for (const auto& one : result.recalls)
    right.push_back(fmt::format("{} {:.1f}%", one.name, 100 * one.beyond(far_from(result)).accuracy()));
  return fmt::format(
      "The window shows {} words. Right answers about things that were last mentioned {} words ago or more: "
      "{}; chance is {:.1f}%.",
      result.window, far_from(result), fmt::join(right, ", "), 100 * result.recalls[0].chance);
}

std::string command(const DemoRun& run) { return fmt::format("lact {}", fmt::join(run.words, " ")); }

Json to_json(const DemoResult& result) {
  Json json = {{"window", result.window},
               {"chunk", result.chunk},
               {"convolution", result.convolution},
               {"chance", result.recalls[0].chance},
               {"far_from", far_from(result)},
               {"seconds", result.seconds},
               {"models", Json::array()}};
  for (size_t i = 0; i < result.runs.size(); ++i) {
    const auto& run = result.runs[i];
    Json buckets = Json::array();
    for (const auto& bucket : result.recalls[i].buckets) {
      buckets.push_back({{"from", bucket.begin},
                         {"below", bucket.end},
                         {"asked", bucket.asked},
                         {"accuracy", bucket.accuracy()}});
    }
    json["models"].push_back({{"name", run.name},
                              {"parameters", result.parameters[i]},
                              {"steps", run.steps},
                              {"seconds", run.seconds},
                              {"command", command(run)},
                              {"training_loss", run.loss},
                              {"valid_loss", run.valid_loss},
                              {"recall_far", result.recalls[i].beyond(far_from(result)).accuracy()},
                              {"recall_by_distance", buckets},
                              {"position", result.losses[i].end},
                              {"loss_by_position", result.losses[i].loss}});
  }
  return json;
}

}  // namespace

std::string demo_text(const DemoResult& result) {
  std::string text = "\n";
  const auto line = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i)
      text += i == 0 ? fmt::format("{:<26}", cells[i]) : fmt::format("{:>16}", cells[i]);
    text += "\n";
  };
  line(recall_header(result));
  for (const auto& row : recall_rows(result)) line(row);
  text += "\n" + eval::terminal_chart(tasks::lm::recall_plot(result.recalls, result.window),
                                      std::min(78, terminal_columns(STDOUT_FILENO) - 1), 14);
  text += fmt::format("\n{}\n\nAfter \"... {}\" follows \"{}\", said {} words ago.\n", summary(result),
                      result.sample.prompt.substr(result.sample.prompt.size() -
                                                  std::min<size_t>(60, result.sample.prompt.size())),
                      result.sample.answer, result.sample.distance);
  for (const auto& [name, written] : result.sample.written)
    text += fmt::format("  {} writes:{}\n", name, written);
  return text;
}

void write_demo(const DemoResult& result, const std::string& folder) {
  eval::HtmlReport report("Memory beyond the attention window");
  report.paragraph(summary(result));
  report.heading("Recall against distance");
  report.figure(
      tasks::lm::recall_plot(result.recalls, result.window),
      "Right answers by the number of tokens since the answer was mentioned last. Chunks are as long as the "
      "window, so that every word is in the one or in the other.");
  report.table(recall_header(result), recall_rows(result));
  report.heading("Loss against position");
  report.figure(
      tasks::lm::position_loss_plot(result.losses),
      "Early tokens tell new facts and cannot be guessed; later ones repeat them, for those who remember.");
  report.heading("Training");
  report.figure(training_plot(result), "The loss of the training batches.");
  report.heading("A sample");
  report.paragraph(fmt::format("The prompt; the right next word is \"{}\", mentioned {} words before.",
                               result.sample.answer, result.sample.distance));
  report.code(result.sample.prompt);
  for (const auto& [name, written] : result.sample.written) {
    report.paragraph(name + " writes:");
    report.code(written);
  }
  report.heading("How it was made");
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < result.runs.size(); ++i) {
    const auto& run = result.runs[i];
    rows.push_back({run.name, std::to_string(result.parameters[i]), std::to_string(run.steps),
                    format_duration(run.seconds), fmt::format("{:.4f}", run.valid_loss)});
  }
  report.table({"model", "parameters", "steps", "time of one core", "validation loss"}, rows);
  report.paragraph(
      "All have the same blocks, data, order of data, rate and seed. Names and things are bound anew in each "
      "document.");
  if (result.convolution) {
    report.paragraph(
        "The paper's layer has no convolution on q, k and v. This one has, of four words, in all models: it "
        "lets a name meet the thing beside it at once, which attention learns only in many more steps.");
  }
  for (const auto& run : result.runs) report.code(command(run));
  const std::filesystem::path path = folder;
  report.write((path / "report.html").string());
  io::write_file_atomically((path / "result.json").string(),
                            [&](io::FileWriter& file) { file.write(to_json(result).dump(2) + "\n"); });
}

}  // namespace lact::cli
