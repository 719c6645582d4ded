#include <cmath>

#include "lact/base/format.h"
#include "lact/cli/video/eval.h"
#include "lact/eval/html_report.h"

namespace lact::cli {

using options::Json;

namespace {

using TextRows = std::vector<std::vector<std::string>>;

std::string four_digits(double value) { return std::isfinite(value) ? fmt::format("{:.4f}", value) : "-"; }

std::vector<std::string> chunk_header(const VideoEvaluation& result) {
  std::vector<std::string> header = {"chunk"};
  for (const auto& score : result.scores) header.push_back(score.name);
  return header;
}

TextRows chunk_rows(const VideoEvaluation& result) {
  TextRows rows;
  for (int64_t chunk = 0; chunk < result.chunks; ++chunk) {
    auto& row = rows.emplace_back(std::vector<std::string>{std::to_string(chunk + 1)});
    for (const auto& score : result.scores)
      row.push_back(fmt::format("{:.4f} +- {}", score.by_chunk()[size_t(chunk)],
                                four_digits(score.error_by_chunk()[size_t(chunk)])));
  }
  auto& row = rows.emplace_back(std::vector<std::string>{"all"});
  for (const auto& score : result.scores) row.push_back(four_digits(score.mean()));
  return rows;
}

const std::vector<std::string> kReappearanceHeader = {"model", "timestep",  "returning",
                                                      "known", "elsewhere", "returning / elsewhere"};

bool has_reappearance(const VideoEvaluation& result) {
  return !result.scores.empty() && !result.scores.front().reappearance.empty();
}

TextRows reappearance_rows(const VideoEvaluation& result) {
  TextRows rows;
  for (const auto& score : result.scores) {
    for (size_t level = 0; level < score.reappearance.size(); ++level) {
      const auto& one = score.reappearance[level];
      const auto& timesteps = result.options.timesteps;
      rows.push_back({score.name, level < timesteps.size() ? fmt::format("{:g}", timesteps[level]) : "all",
                      four_digits(one.returning()), four_digits(one.known()), four_digits(one.elsewhere()),
                      four_digits(one.ratio())});
    }
  }
  return rows;
}

/// JSON has no word for what is not a number.
Json finite_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json reappearance_json(const data::ReappearanceScore& one) {
  Json gaps = Json::object();
  for (const auto& [gap, error] : one.by_gap()) gaps[std::to_string(gap)] = finite_json(error);
  return {{"returning", finite_json(one.returning())},
          {"known", finite_json(one.known())},
          {"elsewhere", finite_json(one.elsewhere())},
          {"by_gap", gaps}};
}

Json video_score_json(const ScoredVideo& model, const tasks::video::DenoisingScore& score,
                      const std::vector<double>& timesteps) {
  Json json = {{"name", model.name},      {"folder", model.folder},
               {"mixer", model.mixer},    {"parameters", model.parameters},
               {"mean", score.mean()},    {"by_chunk", score.by_chunk()},
               {"errors", Json::array()}, {"by_timestep", Json::array()}};
  for (const double error : score.error_by_chunk()) json["errors"].push_back(finite_json(error));
  for (size_t level = 0; level < timesteps.size(); ++level) {
    Json of_level = {{"timestep", timesteps[level]}, {"by_chunk", score.by_chunk(int64_t(level))}};
    if (!score.reappearance.empty()) of_level["reappearance"] = reappearance_json(score.reappearance[level]);
    json["by_timestep"].push_back(std::move(of_level));
  }
  if (!score.reappearance.empty()) json["reappearance"] = reappearance_json(score.all_reappearance());
  return json;
}

}  // namespace

Evaluation show(const VideoEvaluation& result) {
  Evaluation shown;
  shown.table = fmt::format("{} clips, mean over timesteps {:g}\n{}", result.options.clips,
                            fmt::join(result.options.timesteps, ", "),
                            text_table(chunk_header(result), chunk_rows(result)));
  shown.json = {{"task", "video"},
                {"clips", result.clips},
                {"chunks", result.chunks},
                {"options", options::write(result.options)},
                {"models", Json::array()}};
  for (size_t i = 0; i < result.scores.size(); ++i)
    shown.json["models"].push_back(
        video_score_json(result.models[i], result.scores[i], result.options.timesteps));
  shown.plots[""] = tasks::video::denoising_plot(result.scores, result.options.timesteps);
  if (has_reappearance(result)) {
    shown.table += "\nwhere things come back\n" + text_table(kReappearanceHeader, reappearance_rows(result));
    shown.plots["_reappearance"] = tasks::video::reappearance_plot(result.scores);
  }
  return shown;
}

void write_video_report(const VideoEvaluation& result, const std::string& path) {
  eval::HtmlReport report("Chunks of video, denoised");
  report.paragraph(fmt::format(
      "Every chunk of {} clips ({}) is denoised after the true chunks before it. The loss is the mean "
      "squared "
      "error of the velocity, less is better; all models see the same clips with the same noise. +- is the "
      "standard error over the clips.",
      result.options.clips, result.clips));
  report.figure(tasks::video::denoising_plot(result.scores, result.options.timesteps),
                "A model that remembers does better in later chunks.");
  report.table(chunk_header(result), chunk_rows(result));
  if (has_reappearance(result)) {
    report.heading("Things that come back");
    report.paragraph(
        "Mean squared error of the clean clip that one step from the noise finds: where a thing has just "
        "come "
        "back after whole chunks without it (returning), where the chunk before shows it too (known), and in "
        "the rest of the frames with something returning (elsewhere).");
    report.figure(tasks::video::reappearance_plot(result.scores), "All timesteps together.");
    report.table(kReappearanceHeader, reappearance_rows(result));
  }
  report.heading("By noise level");
  for (size_t level = 0; level < result.options.timesteps.size(); ++level)
    report.figure(tasks::video::denoising_plot(result.scores, result.options.timesteps, int64_t(level)), "");
  if (!result.continued.empty()) {
    report.heading("Continued clips");
    std::vector<std::string> names;
    for (const auto& model : result.models) names.push_back(model.name);
    report.paragraph(fmt::format("The first {} chunks are given. Rows: the truth, then {}.", result.given,
                                 fmt::join(names, ", ")));
    for (const auto& clip : result.continued) report.picture(clip.image, clip.caption);
  }
  report.heading("Models");
  TextRows rows;
  for (const auto& model : result.models)
    rows.push_back({model.name, model.folder, model.mixer, format_count(double(model.parameters))});
  report.table({"model", "folder", "mixer", "parameters"}, rows);
  report.write(path);
}

}  // namespace lact::cli
