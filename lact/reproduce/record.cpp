#include "lact/reproduce/record.h"

#include <cmath>
#include <filesystem>
#include <numeric>

#include "lact/base/error.h"
#include "lact/base/json_text.h"
#include "lact/io/atomic_file.h"
#include "lact/io/regular_file.h"

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

}  // namespace lact::reproduce
