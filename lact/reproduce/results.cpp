#include "lact/reproduce/results.h"

#include <cmath>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/json_text.h"
#include "lact/io/regular_file.h"
#include "lact/reproduce/step_folder.h"

namespace lact::reproduce {

namespace {

constexpr uint64_t kMostOutput = uint64_t{1} << 28;

/// What was expected of a file, after the sentence that says what is wrong with it.
[[noreturn]] void fail_expecting(const std::exception& error, const std::string& expected) {
  fail("{}; expected {}", error.what(), expected);
}

}  // namespace

void Results::add(const std::string& id, StepResult result) {
  json_.erase(id);
  curves_.erase(id);
  results_[id] = std::move(result);
}

bool Results::has(const std::string& id) const { return results_.contains(id); }

const StepResult& Results::at(const std::string& id) const {
  const auto found = results_.find(id);
  LACT_CHECK(found != results_.end(), "[reproduce] step {} is not finished", id);
  return found->second;
}

const options::Json& Results::json(const std::string& id) const {
  const auto known = json_.find(id);
  if (known != json_.end()) return known->second;
  const StepResult& result = at(id);
  const std::string path = result.folder + "/" + kOutputFile;
  try {
    return json_[id] = parse_json(io::read_whole_file(path, kMostOutput), path);
  } catch (const Error& error) {
    json_.erase(id);
    fail_expecting(error, "the JSON that this prints: " + result.command);
  }
}

options::Json Results::file(const std::string& id, const std::string& name) const {
  const StepResult& result = at(id);
  try {
    return options::read_json_file((std::filesystem::path(result.folder) / name).string());
  } catch (const Error& error) {
    fail_expecting(error, "the JSON file that this writes: " + result.command);
  }
}

const eval::Curves& Results::curves(const std::string& id) const {
  const auto known = curves_.find(id);
  if (known != curves_.end()) return known->second;
  const StepResult& result = at(id);
  try {
    return curves_.emplace(id, eval::read_curves(result.folder)).first->second;
  } catch (const Error& error) {
    fail_expecting(error, "the curves that this writes: " + result.command);
  }
}

double Results::last(const std::string& id, const std::string& field) const {
  const eval::Curves& all = curves(id);
  const auto found = all.find(field);
  if (found == all.end()) {
    std::vector<std::string> known;
    for (const auto& [name, curve] : all) known.push_back(name);
    fail("{}/metrics.jsonl: has no field \"{}\"; there are {}", at(id).folder, field, fmt::join(known, ", "));
  }
  const double value = found->second.value.back();
  LACT_CHECK(std::isfinite(value), "{}/metrics.jsonl: the last {} is {}, expected a number", at(id).folder,
             field, value);
  return value;
}

}  // namespace lact::reproduce
