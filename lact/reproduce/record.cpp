#include "lact/reproduce/record.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "lact/base/error.h"
#include "lact/base/json_text.h"
#include "lact/io/atomic_file.h"
#include "lact/io/regular_file.h"
#include "lact/reproduce/report.h"
#include "lact/reproduce/report_parts.h"

namespace lact::reproduce {

namespace fs = std::filesystem;
using options::Json;

namespace {

constexpr size_t kMostPoints = 200;
constexpr uint64_t kLargestOutput = 1 << 20;  // of a step's stdout, in bytes

Json curves_json(const eval::Curves& curves) {
  Json json = Json::object();
  for (const auto& [name, curve] : curves) {
    if (name != "loss" && !name.starts_with("valid_")) continue;
    const eval::Curve kept = name == "loss" ? thinned(curve, kMostPoints) : curve;
    json[name] = {{"step", kept.step}, {"value", kept.value}};
  }
  return json;
}

Json step_json(const Results& results, const std::string& id) {
  const StepResult& result = results.at(id);
  Json json = {
      {"id", id}, {"command", result.command}, {"seconds", result.seconds}, {"machine", result.machine}};
  const fs::path folder(result.folder);
  if (fs::exists(folder / "run.json")) json["run"] = results.file(id, "run.json");
  if (fs::exists(folder / "metrics.jsonl")) json["curves"] = curves_json(results.curves(id));
  const std::string output = (folder / kOutputFile).string();
  if (fs::exists(output) && fs::file_size(output) <= kLargestOutput) {
    auto printed = try_parse_json(io::read_whole_file(output, kLargestOutput));
    if (printed) json["printed"] = std::move(*printed);
  }
  return json;
}

/// Of one section, with where and how it ran; its pictures stay where it was.
Report read_record(const std::string& path) {
  Json json = options::read_json_file(path);
  try {
    LACT_CHECK(json.is_object() && json.contains("section"), "it has no field section");
    json["sections"] = Json::array({std::move(json["section"])});
    json.erase("section");
    json.erase("steps");
    Report report = parse_report(json);
    Section& section = report.sections.front();
    section.notes.push_back("Ran with: " + circumstances(report) + ".");
    if (!section.pictures.empty()) section.notes.push_back("Its pictures are not part of the record.");
    section.pictures.clear();
    return report;
  } catch (const Error& error) {
    fail("{}: {}", path, error.what());
  }
}

}  // namespace

eval::Curve thinned(const eval::Curve& curve, size_t most) {
  const size_t count = curve.value.size();
  if (count <= most) return curve;
  eval::Curve result;
  for (size_t i = 0; i < most; ++i) {
    const size_t begin = i * count / most, end = (i + 1) * count / most;
    const auto first = curve.value.begin() + std::ptrdiff_t(begin),
               last = curve.value.begin() + std::ptrdiff_t(end);
    result.step.push_back(curve.step[end - 1]);
    result.value.push_back(std::accumulate(first, last, 0.0) / double(end - begin));
  }
  return result;
}

Json rounded(const Json& json) {
  if (json.is_number_float()) {
    const double value = json.get<double>();
    if (!std::isfinite(value)) return nullptr;
    return std::stod(fmt::format("{:.6g}", value));
  }
  Json result = json;
  if (json.is_structured())
    for (auto& item : result) item = rounded(item);
  return result;
}

void write_record(const Suite& suite, const SuiteOutcome& outcome, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  LACT_CHECK(!error, "{}: cannot be created: {}", folder, error.message());
  for (const auto& experiment : outcome.experiments) {
    if (!experiment.section || !experiment.failure.empty()) continue;
    const Json json = {{"budget", outcome.report.budget},   {"seeds", outcome.report.seeds},
                       {"machine", outcome.report.machine}, {"version", outcome.report.version},
                       {"date", outcome.report.date},       {"section", options::write(*experiment.section)}};
    // A line for each step: a file that can be compared with the one before.
    std::string text = rounded(json).dump();
    text.pop_back();
    text += ",\n\"steps\": [";
    const char* separator = "\n";
    for (const auto& id : suite.steps_of(experiment.id)) {
      text += separator + rounded(step_json(suite.results(), id)).dump();
      separator = ",\n";
    }
    text += "\n]}\n";
    const std::string path = (fs::path(folder) / (experiment.id + ".json")).string();
    io::write_file_atomically(path, [&](io::FileWriter& out) { out.write(text); });
  }
}

Report read_records(const std::string& folder, const std::vector<std::string>& ids) {
  LACT_CHECK(fs::is_directory(folder), "{}: there is no such folder, expected one that --record has left",
             folder);
  std::vector<std::pair<size_t, std::string>> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const auto place = std::find(ids.begin(), ids.end(), entry.path().stem().string());
    files.emplace_back(place - ids.begin(), entry.path().string());
  }
  LACT_CHECK(!files.empty(), "{}: nothing is recorded there, expected files such as {}.json", folder,
             ids.empty() ? "fig5" : ids.front());
  std::sort(files.begin(), files.end());

  Report report;
  for (const auto& [place, path] : files) {
    Report one = read_record(path);
    const bool first = report.sections.empty();
    const auto agree = [&](std::string& field, const std::string& other) {
      if (first) field = other;
      if (field != other) field.clear();
    };
    agree(report.budget, one.budget);
    agree(report.machine, one.machine);
    agree(report.version, one.version);
    report.date = std::max(report.date, one.date);
    report.seeds = first ? one.seeds : std::min(report.seeds, one.seeds);
    report.sections.push_back(std::move(one.sections.front()));
  }
  return report;
}

}  // namespace lact::reproduce
