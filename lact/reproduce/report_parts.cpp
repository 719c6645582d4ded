#include "lact/reproduce/report_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace lact::reproduce {

namespace {

/// Blank, or a dash of any length.
bool stands_for_nothing(std::string_view cell) {
  return cell.empty() || cell == "-" || cell == "–" || cell == "—";
}

bool begins_with_number(std::string_view cell) {
  for (const std::string_view sign : {"+", "-", "−", "±", "<", ">", "~", "."})
    if (cell.starts_with(sign)) cell.remove_prefix(sign.size());
  return !cell.empty() && cell[0] >= '0' && cell[0] <= '9';
}

}  // namespace

std::string figure_file(const Section& section, size_t chart) {
  return fmt::format("figures/{}_{}.svg", section.id, chart + 1);
}

eval::Plot chart_plot(const Chart& chart) {
  eval::Plot plot;
  plot.title = chart.title;
  plot.x_label = chart.x_label;
  plot.y_label = chart.y_label;
  plot.log_x = chart.log_x;
  for (const Line& line : chart.lines)
    plot.series.push_back({line.name, line.x, line.y, line.dashed, line.low, line.high});
  return plot;
}

bool holds_quantities(const Table& table, size_t column) {
  bool found = false;
  for (const auto& row : table.rows) {
    if (stands_for_nothing(row[column])) continue;
    if (!begins_with_number(row[column])) return false;
    found = true;
  }
  return found;
}

std::string tally(const Report& report) {
  const auto number_of = [&](Verdict verdict) {
    return std::count_if(report.sections.begin(), report.sections.end(),
                         [&](const Section& section) { return section.verdict() == verdict; });
  };
  const auto holding = number_of(Verdict::holds), failing = number_of(Verdict::does_not_hold),
             open = number_of(Verdict::inconclusive);
  return fmt::format("{} of {} {}, {} {} not hold, {} {} inconclusive", holding, report.sections.size(),
                     holding == 1 ? "holds" : "hold", failing, failing == 1 ? "does" : "do", open,
                     open == 1 ? "is" : "are");
}

std::string circumstances(const Report& report) {
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : " · ") + part;
  };
  if (!report.budget.empty()) add("budget " + report.budget);
  add(fmt::format("{} seed{}", report.seeds, report.seeds == 1 ? "" : "s"));
  for (const auto& part : {report.machine, report.version, report.date}) add(part);
  return text;
}

}  // namespace lact::reproduce
