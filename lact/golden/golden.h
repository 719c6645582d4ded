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

/// Every case in float32 and float64. A case that cannot be read, or whose kind is unknown, is a failure with
/// its reason.
std::vector<Report> run_all(const Options& options);

}  // namespace lact::golden
