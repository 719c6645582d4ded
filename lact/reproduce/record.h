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

/// Means over equal stretches, at their last steps, so that at most `most` values are left.
eval::Curve thinned(const eval::Curve& curve, size_t most);

/// With 6 digits for each number that is not whole.
options::Json rounded(const options::Json& json);

}  // namespace lact::reproduce
