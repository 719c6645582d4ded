#include "lact/bench/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lact::bench {

namespace {

using options::Json;

Json number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}
Json word(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string time_text(const std::optional<double>& seconds) {
  if (!seconds) return "-";
  if (*seconds < 1e-3) return fmt::format("{:.1f} us", *seconds * 1e6);
  if (*seconds < 1) return fmt::format("{:.2f} ms", *seconds * 1e3);
  return fmt::format("{:.2f} s", *seconds);
}
std::string text(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "-";
}
std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f}%", *share * 100) : "-";
}

}  // namespace

Json to_json(const Result& r) {
  return {{"area", r.area},
          {"shape", r.shape},
          {"rule", word(r.rule)},
          {"pass", r.pass},
          {"precision", word(r.precision)},
          {"seconds", number(r.seconds)},
          {"median_seconds", number(r.median_seconds)},
          {"share_of_peak", number(r.share_of_peak)},
          {"vs_pytorch_bf16", number(r.vs_pytorch_bf16)},
          {"vs_pytorch_f32", number(r.vs_pytorch_f32)},
          {"vs_reference", number(r.vs_reference)},
          {"extra_memory_mb", number(r.extra_memory_mb)},
          {"memory_vs_pytorch", number(r.memory_vs_pytorch)},
          {"max_error", number(r.max_error)},
          {"note", word(r.note)},
          {"sizes", r.sizes}};
}

std::string title(const Result& r) {
  std::string words = fmt::format("{} {}", r.area, r.shape);
  for (const std::string& part : {r.rule, r.pass, r.precision}) {
    if (!part.empty()) words += " " + part;
  }
  return words;
}

std::string line(const Result& r) {
  std::string line = title(r) + ": " + (r.wrong ? "wrong answer" : time_text(r.seconds));
  if (r.share_of_peak) line += ", " + percent(r.share_of_peak) + " of the limit";
  return line;
}

std::string table(const std::vector<Result>& results) {
  if (results.empty()) return "";
  std::vector<std::vector<std::string>> rows = {{"area", "shape", "rule", "pass", "type", "best", "median",
                                                 "peak", "x bf16", "x f32", "x ref.", "memory", "of PT",
                                                 "error", ""}};
  for (const auto& r : results) {
    rows.push_back({r.area, r.shape, r.rule, r.pass, r.precision, r.wrong ? "WRONG" : time_text(r.seconds),
                    time_text(r.median_seconds), percent(r.share_of_peak), text(r.vs_pytorch_bf16, "{:.2f}"),
                    text(r.vs_pytorch_f32, "{:.2f}"), text(r.vs_reference, "{:.2f}"),
                    text(r.extra_memory_mb, "{:.0f} MB"), percent(r.memory_vs_pytorch),
                    text(r.max_error, "{:.1e}"), r.note});
  }
  constexpr size_t kWords = 5;  // these stand left, figures right
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string page;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const bool left = i < kWords || i + 1 == row.size();
      line += left ? fmt::format("{:<{}}  ", row[i], widths[i]) : fmt::format("{:>{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    page += line + "\n";
  }
  return page;
}

}  // namespace lact::bench
