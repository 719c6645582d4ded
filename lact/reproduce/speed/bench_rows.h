// What `lact bench AREA --json` printed, for sections about speed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lact/base/options.h"
#include "lact/reproduce/section.h"
#include "lact/reproduce/step.h"

namespace lact::reproduce {

struct BenchRow {
  std::string area, rule, pass;
  double seconds = 0;        ///< the best run
  double share_of_peak = 0;  ///< NaN where nobody has counted the work
  options::Json sizes = {};

  /// A number of `sizes`; a sentence if it is missing.
  double size(const char* name) const;
};

class BenchRows {
 public:
  /// A sentence for whatever is missing, and for a wrong answer, which has no time. `area` is for these.
  BenchRows(const options::Json& printed, const std::string& area);

  /// Rows of one rule and pass in the order of a size; a sentence if there are none. A rule that ends in '*'
  /// stands for all that begin like it.
  std::vector<BenchRow> of(const std::string& rule, const std::string& pass, const char* order_by) const;
  bool has(const std::string& rule, const std::string& pass) const;

  /// "AMD EPYC, avx512_bf16, threads: 2; 471 GFLOP/s in bf16 at most, 36.6 GB/s from memory"
  std::string machine() const { return machine_; }

 private:
  std::string area_, machine_;
  std::vector<BenchRow> rows_;
};

double percent_of_peak(const BenchRow& row);

/// "Significantly" faster, of a ratio of speeds: at least twice.
constexpr double kMuchFaster = 2;

/// The line of a chart through rows.
Line line_of(const std::string& name, const std::vector<BenchRow>& rows, const char* x,
             const std::function<double(const BenchRow&)>& y);

/// A table with the places of several lines below each other, and one column for each line. A cell is empty
/// where a line has no such place.
Table table_of(const std::string& title, const std::string& place, const std::vector<Line>& lines,
               const char* format);

/// Words of a measurement without PyTorch beside it: `bench AREA --json --no-peers`, small with `quick`.
Words bench_words(const std::string& area, bool quick, int64_t repeats, const Words& more);

/// Adds numbers to what a finding says. Shapes of --quick say nothing about speed: then no verdict.
Finding with_numbers(Finding finding, const std::string& numbers, bool quick);

/// Holds if the two are equal.
Finding equals(const std::string& statement, const std::string& what, double found, double expected);

/// A number of a command's JSON output; a sentence that names the command if it is missing.
double number_of(const options::Json& printed, const char* name, const std::string& command);

}  // namespace lact::reproduce
