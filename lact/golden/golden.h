// Checks this implementation against stored numbers.
#pragma once

#include <functional>

#include "lact/golden/run.h"

namespace lact::golden {

struct Options {
  std::string folder;
  std::string filter;                                 ///< only cases whose name or kind contains this
  std::function<void(const Report&)> on_report = {};  ///< called after each run
};

/// Every case in float32 and float64. A case that cannot be read is a failure with its reason; one whose kind
/// this build does not know has one report, which says that it was not computed.
std::vector<Report> run_all(const Options& options);

/// The folder of the cases that come with the program: one or more of every kind. Throws if it is not there.
std::string bundled_cases();

}  // namespace lact::golden
