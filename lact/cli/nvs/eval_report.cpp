#include <cctype>

#include "lact/base/format.h"
#include "lact/cli/nvs/eval.h"
#include "lact/eval/html_report.h"

namespace lact::cli {

using options::Json;

namespace {

std::vector<std::string> groups_of(const std::vector<tasks::nvs::ViewSummary>& summaries) {
  std::vector<std::string> groups;
  for (const auto& one : summaries)
    if (groups.empty() || groups.back() != one.group) groups.push_back(one.group);
  return groups;
}

void add_quality_header(const NvsEvaluation& result, std::vector<std::string>& header) {
  header.insert(header.end(), {"PSNR", "SSIM"});
  if (result.lpips) header.emplace_back("LPIPS");
}

void add_quality(const tasks::nvs::ImageScores& images, std::vector<std::string>& row) {
  row.insert(row.end(), {fmt::format("{:.2f}", images.psnr), fmt::format("{:.4f}", images.ssim)});
  if (images.lpips) row.push_back(fmt::format("{:.4f}", *images.lpips));
}

std::vector<std::string> score_header(const NvsEvaluation& result) {
  std::vector<std::string> header = {"model", "views", "scenes"};
  add_quality_header(result, header);
  header.insert(header.end(), {"read, s", "frames/s"});
  return header;
}

/// Gaussians read none.
std::string views_word(int64_t inputs) { return inputs == 0 ? "-" : std::to_string(inputs); }

double frames_per_second(double render_seconds) { return render_seconds > 0 ? 1 / render_seconds : 0; }

std::vector<std::string> score_row(const tasks::nvs::ViewSummary& one) {
  std::vector<std::string> row = {one.model, views_word(one.inputs), std::to_string(one.scenes)};
  add_quality(one.images, row);
  row.insert(row.end(), {fmt::format("{:.4f}", one.reconstruct_seconds),
                         fmt::format("{:.2f}", frames_per_second(one.render_seconds))});
  return row;
}

std::vector<std::vector<std::string>> score_rows(const std::vector<tasks::nvs::ViewSummary>& summaries,
                                                 const std::string& group) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& one : summaries)
    if (one.group == group) rows.push_back(score_row(one));
  return rows;
}

std::vector<std::string> scene_header(const NvsEvaluation& result) {
  std::vector<std::string> header = {"scene", "model", "views"};
  add_quality_header(result, header);
  return header;
}

/// Every scene of a group.
std::vector<std::vector<std::string>> scene_rows(const NvsEvaluation& result, const std::string& group) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& one : result.scores) {
    if (one.group != group) continue;
    rows.push_back({one.scene, one.model, views_word(one.inputs)});
    add_quality(one.images, rows.back());
  }
  return rows;
}

/// Of a score or of a summary.
template <class Score>
Json score_json(const Score& one) {
  Json json = {{"model", one.model}, {"group", one.group}, {"inputs", one.inputs}};
  json["psnr"] = one.images.psnr;
  json["ssim"] = one.images.ssim;
  if (one.images.lpips) json["lpips"] = *one.images.lpips;
  json["reconstruct_seconds"] = one.reconstruct_seconds;
  json["render_seconds"] = one.render_seconds;
  json["frames_per_second"] = frames_per_second(one.render_seconds);
  return json;
}

Json to_json(const NvsEvaluation& result, const std::vector<tasks::nvs::ViewSummary>& summaries) {
  Json json = {{"task", "nvs"},
               {"protocol", options::write(result.protocol)},
               {"height", result.test.height},
               {"width", result.test.width},
               {"targets", result.test.targets},
               {"selection", options::write(result.test.inputs)},
               {"seed", result.test.seed},
               {"lpips_network", options::write(result.lpips)},
               {"models", Json::array()},
               {"means", Json::array()},
               {"scores", Json::array()}};
  for (const auto& model : result.models)
    json["models"].push_back({{"name", model.name},
                              {"folder", model.folder},
                              {"mixer", model.mixer},
                              {"frame", model.frame},
                              {"parameters", model.parameters}});
  for (const auto& one : summaries) {
    json["means"].push_back(score_json(one));
    json["means"].back()["scenes"] = one.scenes;
  }
  for (const auto& one : result.scores) {
    json["scores"].push_back(score_json(one));
    json["scores"].back()["scene"] = one.scene;
  }
  return json;
}

void add_time_plots(const NvsEvaluation& result, eval::HtmlReport& report) {
  report.heading("Time");
  report.figure(
      tasks::nvs::reconstruct_time_plot(result.scores),
      "Reading all input views. Fast weights take time in proportion to the views, full attention in "
      "proportion to their square once attention outweighs the rest.");
  report.figure(
      tasks::nvs::render_time_plot(result.scores),
      "Rendering one view afterwards. Fast weights have a fixed size; full attention looks at every "
      "token that was read.");
}

std::string sheet_caption(const ComparisonSheet& sheet, const NvsEvaluation& result) {
  std::vector<std::string> names;
  for (const auto& model : result.models) names.push_back(model.name);
  const std::string scene = sheet.group == sheet.scene ? sheet.scene : sheet.group + " " + sheet.scene;
  const std::string columns =
      result.reads_views() ? fmt::format("what was rendered from {} views", fmt::join(sheet.counts, ", "))
                           : "what was rendered";
  return fmt::format("{} ({}). Columns: the truth, then {}. {}", scene, sheet.file, columns,
                     names.size() == 1 ? "Each row is a view that the model has not seen."
                                       : fmt::format("Rows of each view that the models have not seen: {}.",
                                                     fmt::join(names, ", ")));
}

}  // namespace

std::string word_for_file(const std::string& name) {
  std::string word = name;
  for (char& c : word)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.') c = '_';
  return word;
}

Evaluation show(const NvsEvaluation& result) {
  const auto summaries = tasks::nvs::summarize(result.scores);
  Evaluation shown;
  for (const auto& group : groups_of(summaries)) {
    shown.table += fmt::format("{}{}, {} x {} pixels\n", shown.table.empty() ? "" : "\n", group,
                               result.test.width, result.test.height);
    if (result.protocol)
      shown.table += text_table(scene_header(result), scene_rows(result, group)) + "\nmean over the scenes\n";
    shown.table += text_table(score_header(result), score_rows(summaries, group));
    if (result.reads_views())
      shown.plots["_psnr_" + word_for_file(group)] = tasks::nvs::view_psnr_plot(summaries, group);
  }
  if (result.reads_views()) {
    shown.plots["_reconstruct"] = tasks::nvs::reconstruct_time_plot(result.scores);
    shown.plots["_render"] = tasks::nvs::render_time_plot(result.scores);
  }
  shown.json = to_json(result, summaries);
  return shown;
}

void write_nvs_report(const NvsEvaluation& result, const std::string& path) {
  const auto summaries = tasks::nvs::summarize(result.scores);
  eval::HtmlReport report("Views that were never seen");
  report.paragraph(
      fmt::format("Each model reads some views of a scene, or is a scene of Gaussians, and renders others, "
                  "{} x {} pixels. PSNR in decibels and SSIM: "
                  "more is better. {} Times are medians over all scenes on this machine.",
                  result.test.width, result.test.height,
                  result.lpips ? fmt::format("LPIPS ({}): less is better.", options::word_of(*result.lpips))
                               : "LPIPS is left out, as its weights were not given."));
  for (const auto& group : groups_of(summaries)) {
    report.heading(group);
    report.table(score_header(result), score_rows(summaries, group));
    if (result.reads_views())
      report.figure(tasks::nvs::view_psnr_plot(summaries, group),
                    "Quality against the number of views that were read.");
    const auto scenes = scene_rows(result, group);
    if (scenes.size() > score_rows(summaries, group).size()) report.table(scene_header(result), scenes);
    for (const auto& sheet : result.sheets)
      if (sheet.group == group && sheet.image.defined())
        report.picture(sheet.image, sheet_caption(sheet, result));
  }
  if (result.reads_views()) add_time_plots(result, report);
  report.heading("Models");
  std::vector<std::vector<std::string>> rows;
  for (const auto& model : result.models)
    rows.push_back(
        {model.name, model.folder, model.mixer, model.frame, format_count(double(model.parameters))});
  report.table({"model", "folder", "mixer", "coordinates", "parameters"}, rows);
  report.write(path);
}

}  // namespace lact::cli
