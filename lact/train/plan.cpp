#include "lact/train/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "lact/base/format.h"
#include "lact/base/threads.h"
#include "lact/train/peak.h"

namespace lact::train {

namespace {

constexpr double kAssumedShare = 0.3;  // of the machine's peak

std::string work_text(const Plan& plan) {
  if (plan.units == 0) return fmt::format("{} operations in all", format_count(plan.work));
  return fmt::format("{} operations per {}, {} in all", format_count(plan.work / plan.units), plan.unit,
                     format_count(plan.work));
}

/// `operations` per second.
std::string speed_text(const Plan& plan, double operations, double peak) {
  const std::string how =
      plan.measured_speed > 0
          ? fmt::format("measured: {:.0f}% of the machine's {:.0f} GFLOP/s", 100 * operations / peak,
                        peak / 1e9)
          : fmt::format("assumed: {:.0f}% of the measured {:.0f} GFLOP/s", 100 * kAssumedShare, peak / 1e9);
  if (plan.units == 0) return fmt::format("{:.0f} GFLOP/s, {}", operations / 1e9, how);
  return fmt::format("{} {}s/s, {}", format_count(operations * plan.units / plan.work), plan.unit, how);
}

}  // namespace

double assumed_speed() { return kAssumedShare * measured_peak(); }

std::string plan_text(const Plan& plan) {
  const double peak = measured_peak();
  const double operations =
      plan.measured_speed > 0 ? plan.measured_speed * plan.work / plan.units : kAssumedShare * peak;
  std::vector<Plan::Line> lines = {
      {"model", fmt::format("{} parameters, {}", format_count(plan.parameters), plan.shape)}};
  lines.insert(lines.end(), plan.lines.begin(), plan.lines.end());
  lines.push_back({"work", work_text(plan)});
  lines.push_back({"speed", speed_text(plan, operations, peak)});
  lines.push_back({"time", fmt::format("about {} on {} cores", format_duration(plan.work / operations),
                                       threads_in_use())});
  std::string text;
  for (const auto& [name, value] : lines) text += fmt::format("{:<10}{}\n", name, value);
  return text;
}

}  // namespace lact::train
