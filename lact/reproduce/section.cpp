#include "lact/reproduce/section.h"

#include <algorithm>

#include "lact/base/error.h"

namespace lact::reproduce {

namespace {

void check_line(const Line& line, const std::string& path) {
  LACT_CHECK(line.x.size() == line.y.size(), "{}.y has {} values, expected {}, as many as x", path,
             line.y.size(), line.x.size());
  LACT_CHECK(line.low.size() == line.high.size(), "{}.high has {} values, expected {}, as many as low", path,
             line.high.size(), line.low.size());
  LACT_CHECK(line.low.empty() || line.low.size() == line.y.size(),
             "{}.low has {} values, expected none or {}, as many as y", path, line.low.size(), line.y.size());
}

void check_table(const Table& table, const std::string& path) {
  for (size_t i = 0; i < table.rows.size(); ++i) {
    LACT_CHECK(table.rows[i].size() == table.header.size(),
               "{}.rows.{} has {} cells, expected {} as in the header", path, i, table.rows[i].size(),
               table.header.size());
  }
}

}  // namespace

Verdict Section::verdict() const {
  const auto is = [](Verdict verdict) { return [=](const Finding& one) { return one.verdict == verdict; }; };
  if (std::any_of(findings.begin(), findings.end(), is(Verdict::does_not_hold)))
    return Verdict::does_not_hold;
  // A section without a finding, such as one whose steps failed, decides nothing.
  const bool all_hold = std::all_of(findings.begin(), findings.end(), is(Verdict::holds));
  return !findings.empty() && all_hold ? Verdict::holds : Verdict::inconclusive;
}

void check_section(const Section& section, const std::string& path) {
  const auto in_file_names = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  LACT_CHECK(!section.id.empty() && std::all_of(section.id.begin(), section.id.end(), in_file_names),
             "{}.id is \"{}\", expected letters, digits, _ and -", path, section.id);
  for (size_t i = 0; i < section.charts.size(); ++i) {
    for (size_t k = 0; k < section.charts[i].lines.size(); ++k)
      check_line(section.charts[i].lines[k], fmt::format("{}.charts.{}.lines.{}", path, i, k));
  }
  for (size_t i = 0; i < section.tables.size(); ++i)
    check_table(section.tables[i], fmt::format("{}.tables.{}", path, i));
}

}  // namespace lact::reproduce
