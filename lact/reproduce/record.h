// What stands behind the points of a report, small enough to be kept beside the documentation: one JSON file
// for each section.
#pragma once

#include <string>

#include "lact/reproduce/suite.h"

namespace lact::reproduce {

/// Writes FOLDER/<experiment>.json for each finished experiment: the section, and for each of its steps the
/// command, its time and machine, what it printed if that is JSON, and of a training its settings (run.json)
/// and the curves of the loss and of validation. Numbers keep 6 digits; long curves are thinned out.
void write_record(const Suite& suite, const SuiteOutcome& outcome, const std::string& folder);

/// The report of all that was recorded in a folder, at whatever time and on whatever machine; each section
/// says which. Sections are in the order of `ids`, others behind them. Throws a sentence that names the file
/// and field where one is broken, and where there is none.
Report read_records(const std::string& folder, const std::vector<std::string>& ids);

/// Means over equal stretches, at their last steps, so that at most `most` values are left.
eval::Curve thinned(const eval::Curve& curve, size_t most);

/// With 6 digits for each number that is not whole.
options::Json rounded(const options::Json& json);

}  // namespace lact::reproduce
