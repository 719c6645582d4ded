#include "lact/golden/golden.h"

#include <ATen/ATen.h>

#include "lact/golden/kinds.h"

namespace lact::golden {

namespace {

Report run_case(const Case& source, at::ScalarType precision) {
  Run run(source, precision);
  std::string failure;
  try {
    const KindFunction compute = find_kind(source.kind);
    LACT_CHECK(compute != nullptr, "unknown kind \"{}\"", source.kind);
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

}  // namespace

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
      for (const auto precision : {at::kFloat, at::kDouble}) add(run_case(source, precision));
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
