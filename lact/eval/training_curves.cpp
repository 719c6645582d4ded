#include "lact/eval/training_curves.h"

#include <algorithm>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/json_text.h"
#include "lact/base/options.h"
#include "lact/io/regular_file.h"

namespace lact::eval {

namespace {

constexpr uint64_t kMaxMetricsBytes = uint64_t{1} << 30;

void add_metrics_line(const options::Json& line, const std::string& where, Curves& curves) {
  const auto step = line.is_object() ? line.find("step") : line.end();
  LACT_CHECK(line.is_object() && step != line.end() && step->is_number(),
             "{}: expected an object with a number \"step\"", where);
  for (const auto& [name, value] : line.items()) {
    if (name == "step" || !value.is_number()) continue;
    curves[name].step.push_back(step->get<double>());
    curves[name].value.push_back(value.get<double>());
  }
}

}  // namespace

Curves read_curves(const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / "metrics.jsonl").string();
  const std::string text = io::read_whole_file(path, kMaxMetricsBytes);
  Curves curves;
  size_t number = 1;
  for (size_t begin = 0; begin < text.size(); ++number) {
    const size_t newline = text.find('\n', begin), end = std::min(newline, text.size());
    const auto line = try_parse_json(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    if (!line && newline == std::string::npos) break;
    const std::string where = fmt::format("{}: line {}", path, number);
    LACT_CHECK(line, "{}: is not JSON", where);
    add_metrics_line(*line, where, curves);
  }
  LACT_CHECK(!curves.empty(), "{}: holds no figures yet", path);
  return curves;
}

Curve smoothed(const Curve& curve, int64_t window) {
  LACT_CHECK(window >= 1, "[curves] means over {} values are asked for, expected 1 or more", window);
  Curve result = curve;
  double sum = 0;
  for (size_t i = 0; i < curve.value.size(); ++i) {
    sum += curve.value[i];
    if (i >= size_t(window)) sum -= curve.value[i - size_t(window)];
    result.value[i] = sum / double(std::min(i + 1, size_t(window)));
  }
  return result;
}

}  // namespace lact::eval
