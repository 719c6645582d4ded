#include "lact/golden/case.h"

#include <algorithm>

#include "lact/io/safetensors.h"

namespace lact::golden {

namespace fs = std::filesystem;

namespace {

constexpr double kOutputTolerance = 2e-5;
constexpr double kGradientTolerance = 5e-5;

bool is_case(const fs::path& path) {
  return path.extension() == ".json" && fs::exists(fs::path(path).replace_extension(".safetensors"));
}

}  // namespace

std::vector<fs::path> find_cases(const fs::path& folder) {
  LACT_CHECK(fs::exists(folder), "{}: no such file or folder", folder.string());
  if (fs::is_regular_file(folder)) {
    const fs::path json = fs::path(folder).replace_extension(".json");
    LACT_CHECK(is_case(json),
               "{}: not a golden case: expected a .json and a .safetensors file of the same name",
               folder.string());
    return {json};
  }
  std::vector<fs::path> cases;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && is_case(entry.path())) cases.push_back(entry.path());
  }
  LACT_CHECK(!cases.empty(),
             "{}: holds no golden case: expected .json and .safetensors files of the same name",
             folder.string());
  std::sort(cases.begin(), cases.end());
  return cases;
}

Case read_case(const fs::path& json, const fs::path& folder) {
  Case result;
  result.file = json.string();
  result.name = fs::is_directory(folder) ? fs::relative(json, folder).replace_extension().string()
                                         : json.stem().string();
  result.description = options::read_json_file(json.string());
  LACT_CHECK(result.description.is_object() && result.description.contains("kind") &&
                 result.description["kind"].is_string(),
             "{}: has no \"kind\"", result.file);
  result.kind = result.description["kind"].get<std::string>();
  result.tensors = io::read_safetensors(fs::path(json).replace_extension(".safetensors").string()).tensors;
  return result;
}

double Case::tolerance(const std::string& tensor) const {
  const auto number = [](const options::Json& object, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && found != object.end() && found->is_number() ? found->get<double>() : 0.0;
  };
  const auto member = [&](const options::Json& object, const std::string& key) {
    return object.is_object() && object.contains(key) ? object[key] : options::Json();
  };
  if (const double own = number(member(member(description, "tensors"), tensor), "tol"); own > 0) return own;
  const bool gradient = tensor.starts_with("grad.");
  const double suggested = number(member(description, "tolerance"), "suggested_tol_outputs");
  if (!gradient && suggested > 0) return suggested;
  return gradient ? kGradientTolerance : kOutputTolerance;
}

bool Case::ill_conditioned(const std::string& tensor) const {
  const auto tensors = description.find("tensors");
  if (tensors == description.end() || !tensors->is_object() || !tensors->contains(tensor)) return false;
  const auto& entry = (*tensors)[tensor];
  return entry.is_object() && entry.value("ill_conditioned", false);
}

}  // namespace lact::golden
