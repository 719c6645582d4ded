#include "lact/reproduce/speed/bench_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "lact/base/error.h"

namespace lact::reproduce {

using options::Json;

namespace {

/// The member of that name, which has to be there.
const Json& json_member(const Json& object, const char* name, const std::string& where) {
  LACT_CHECK(object.is_object() && object.contains(name), "[reproduce] {} has no \"{}\"", where, name);
  return object.at(name);
}

double json_number(const Json& object, const char* name, const std::string& where) {
  const Json& found = json_member(object, name, where);
  LACT_CHECK(found.is_number(), "[reproduce] \"{}\" of {} is {}, expected a number", name, where,
             found.dump());
  return found.get<double>();
}

std::string json_word(const Json& object, const char* name, const std::string& where) {
  const Json& found = json_member(object, name, where);
  if (found.is_null()) return "";
  LACT_CHECK(found.is_string(), "[reproduce] \"{}\" of {} is {}, expected a word", name, where, found.dump());
  return found.get<std::string>();
}

bool rule_names(const std::string& rule, const std::string& found) {
  return rule.ends_with('*') ? found.starts_with(rule.substr(0, rule.size() - 1)) : found == rule;
}

}  // namespace

double BenchRow::size(const char* name) const {
  return json_number(sizes, name, fmt::format("\"sizes\" of a row of bench {}", area));
}

BenchRows::BenchRows(const Json& printed, const std::string& area) : area_(area) {
  const std::string whole = "what bench " + area + " printed";
  const Json& machine = json_member(printed, "machine", whole);
  const std::string of_machine = "\"machine\" in " + whole;
  machine_ = fmt::format(
      "{}, {}, threads: {}; {:.4g} GFLOP/s in {} at most, {:.3g} GB/s from memory",
      json_word(machine, "cpu", of_machine), json_word(machine, "isa", of_machine),
      json_number(machine, "threads", of_machine), json_number(machine, "peak_gflops", of_machine),
      json_word(machine, "peak_of", of_machine), json_number(machine, "read_gb_per_s", of_machine));
  const Json& results = json_member(printed, "results", whole);
  LACT_CHECK(results.is_array() && !results.empty(), "[reproduce] {} has no rows", whole);
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string where = fmt::format("row {} of bench {}", i + 1, area);
    BenchRow row = {area, json_word(results[i], "rule", where), json_word(results[i], "pass", where)};
    LACT_CHECK(!json_member(results[i], "seconds", where).is_null(),
               "[reproduce] {} ({} {}) has no time: its answer was wrong", where, row.rule, row.pass);
    row.seconds = json_number(results[i], "seconds", where);
    LACT_CHECK(row.seconds > 0, "[reproduce] {} took {} seconds, expected more than 0", where, row.seconds);
    const Json& share = json_member(results[i], "share_of_peak", where);
    row.share_of_peak = share.is_number() ? share.get<double>() : std::numeric_limits<double>::quiet_NaN();
    row.sizes = json_member(results[i], "sizes", where);
    rows_.push_back(std::move(row));
  }
}

std::vector<BenchRow> BenchRows::of(const std::string& rule, const std::string& pass,
                                    const char* order_by) const {
  std::vector<BenchRow> chosen;
  for (const BenchRow& row : rows_) {
    if (rule_names(rule, row.rule) && row.pass == pass) chosen.push_back(row);
  }
  LACT_CHECK(!chosen.empty(), "[reproduce] what bench {} printed has no row of {}, {}", area_, rule, pass);
  std::stable_sort(chosen.begin(), chosen.end(), [&](const BenchRow& one, const BenchRow& other) {
    return one.size(order_by) < other.size(order_by);
  });
  return chosen;
}

bool BenchRows::has(const std::string& rule, const std::string& pass) const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [&](const BenchRow& row) { return rule_names(rule, row.rule) && row.pass == pass; });
}

double percent_of_peak(const BenchRow& row) { return 100 * row.share_of_peak; }

Line line_of(const std::string& name, const std::vector<BenchRow>& rows, const char* x,
             const std::function<double(const BenchRow&)>& y) {
  Line line;
  line.name = name;
  for (const BenchRow& row : rows) {
    line.x.push_back(row.size(x));
    line.y.push_back(y(row));
  }
  return line;
}

Table table_of(const std::string& title, const std::string& place, const std::vector<Line>& lines,
               const char* format) {
  Table table = {title, {place}, {}};
  std::set<double> places;
  for (const Line& line : lines) {
    table.header.push_back(line.name);
    places.insert(line.x.begin(), line.x.end());
  }
  for (const double x : places) {
    std::vector<std::string> cells = {fmt::format("{:.0f}", x)};
    for (const Line& line : lines) {
      const auto found = std::find(line.x.begin(), line.x.end(), x);
      cells.push_back(found == line.x.end()
                          ? ""
                          : fmt::format(fmt::runtime(format), line.y[size_t(found - line.x.begin())]));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Words bench_words(const std::string& area, bool quick, int64_t repeats, const Words& more) {
  Words words = {"bench", area, "--json", "--no-peers", "--repeats", std::to_string(quick ? 1 : repeats)};
  if (quick) words.push_back("--quick");
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Finding with_numbers(Finding finding, const std::string& numbers, bool quick) {
  finding.because += "; " + numbers;
  if (!quick) return finding;
  finding.rule += "; inconclusive at the sizes of --quick, which say nothing about speed";
  finding.verdict = Verdict::inconclusive;
  return finding;
}

Finding equals(const std::string& statement, const std::string& what, double found, double expected) {
  return {statement, fmt::format("holds if {} is {:g}", what, expected), fmt::format("{}: {:g}", what, found),
          found == expected ? Verdict::holds : Verdict::does_not_hold};
}

double number_of(const Json& printed, const char* name, const std::string& command) {
  return json_number(printed, name, "what `" + command + "` printed");
}

}  // namespace lact::reproduce
