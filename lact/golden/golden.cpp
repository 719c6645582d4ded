#include "lact/golden/golden.h"

#include <ATen/ATen.h>

#include "lact/base/data_folder.h"
#include "lact/golden/kinds.h"

namespace lact::golden {

namespace {

Report run_case(const Case& source, KindFunction compute, at::ScalarType precision) {
  Run run(source, precision);
  std::string failure;
  try {
    compute(run);
  } catch (const c10::Error& error) {
    failure = error.what_without_backtrace();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  Report report = run.finish();
  if (!failure.empty()) report.failure = failure;
  return report;
}

Report not_computed(const Case& source) {
  Report report;
  report.name = source.name;
  report.kind = source.kind;
  report.computed = false;
  return report;
}

}  // namespace

std::string bundled_cases() {
  const std::string folder =
      find_data_folder({"tests/golden", "golden", "models/flow_matching/timestep_shift_and_weight.json"});
  LACT_CHECK(!folder.empty(),
             "the golden cases that come with the program were not found: expected share/lact/golden beside "
             "the program's folder, or tests/golden above it or above the current folder; name a folder");
  return folder;
}

std::vector<Report> run_all(const Options& options) {
  std::vector<Report> reports;
  const auto add = [&](Report report) {
    reports.push_back(std::move(report));
    if (options.on_report) options.on_report(reports.back());
  };
  for (const auto& path : find_cases(options.folder)) {
    Report unreadable;
    unreadable.name = path.string();
    try {
      const Case source = read_case(path, options.folder);
      const bool wanted = source.name.find(options.filter) != std::string::npos ||
                          source.kind.find(options.filter) != std::string::npos;
      if (!wanted) continue;
      const KindFunction compute = find_kind(source.kind);
      if (compute == nullptr) add(not_computed(source));
      for (const auto precision : {at::kFloat, at::kDouble})
        if (compute != nullptr) add(run_case(source, compute, precision));
      continue;
    } catch (const std::exception& error) {
      unreadable.failure = error.what();
    }
    if (unreadable.name.find(options.filter) != std::string::npos) add(unreadable);
  }
  LACT_CHECK(!reports.empty(), "{}: no case matches the filter \"{}\"", options.folder, options.filter);
  return reports;
}

}  // namespace lact::golden
