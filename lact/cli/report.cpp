// `lact report`: the curves of training runs side by side.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <set>

#include "lact/base/error.h"
#include "lact/cli/evaluation.h"
#include "lact/cli/numbers.h"
#include "lact/cli/outputs.h"
#include "lact/cli/verbs.h"
#include "lact/eval/training_curves.h"

namespace lact::cli {

namespace {

struct ReportArguments {
  std::vector<std::string> runs, fields;
  std::string output;
  int64_t smooth = 20;
  bool json = false;
};

struct RunCurves {
  std::string name;
  eval::Curves curves;
};

/// As asked for; else the loss and whatever the runs validated.
std::vector<std::string> fields_of(const ReportArguments& arguments, const std::vector<RunCurves>& runs) {
  std::set<std::string> known, wanted;
  for (const auto& run : runs)
    for (const auto& [field, curve] : run.curves) {
      known.insert(field);
      if (field == "loss" || field.starts_with("valid_")) wanted.insert(field);
    }
  for (const auto& field : arguments.fields)
    LACT_CHECK(known.contains(field), "[report] no run has a field \"{}\"; there are {}", field,
               fmt::join(known, ", "));
  return arguments.fields.empty() ? std::vector<std::string>(wanted.begin(), wanted.end()) : arguments.fields;
}

Evaluation compare_runs(const ReportArguments& arguments) {
  std::vector<RunCurves> runs;
  for (const auto& [name, folder] : named_folders(arguments.runs))
    runs.push_back({name, eval::read_curves(folder)});
  Evaluation result;
  result.json = options::Json::object();
  result.table = fmt::format("{:<32} {:<20} {:>8} {:>10} {:>10} {:>10}\n", "field", "run", "steps", "last",
                             "lowest", "highest");
  for (const auto& field : fields_of(arguments, runs)) {
    eval::Plot plot = {.title = field, .x_label = "step", .y_label = field};
    for (const auto& [name, curves] : runs) {
      const auto found = curves.find(field);
      if (found == curves.end()) continue;
      // Validation is the same data each time; what is logged in between is a different batch each time.
      const bool jumps = !field.starts_with("valid_");
      const eval::Curve curve = jumps ? eval::smoothed(found->second, arguments.smooth) : found->second;
      plot.series.push_back({.name = name, .x = curve.step, .y = curve.value});
      const auto [low, high] = std::minmax_element(curve.value.begin(), curve.value.end());
      result.table += fmt::format("{:<32} {:<20} {:>8} {:>10.5g} {:>10.5g} {:>10.5g}\n", field, name,
                                  curve.step.back(), curve.value.back(), *low, *high);
      result.json[field][name] = {{"step", curve.step}, {"value", curve.value}};
    }
    result.plots["_" + field] = std::move(plot);
  }
  return result;
}

}  // namespace

void add_report(CLI::App& program, int& /*exit_code*/) {
  const auto arguments = std::make_shared<ReportArguments>();
  auto* verb = program.add_subcommand("report", "Curves of training runs side by side");
  verb->footer(
      "Example: lact report run\n"
      "         lact report lact=run full=baseline --field valid_psnr -o figures\n"
      "Runs are folders of lact lm train, lact nvs train or lact video train, also while they train.");
  verb->add_option("RUNS", arguments->runs, "Folders of runs, or NAME=FOLDER")->required();
  verb->add_option("--field", arguments->fields,
                   "Figures to show; by default the loss and all of validation");
  add_number(*verb, "--smooth", arguments->smooth, "Means over so many records; validation is left as it is",
             kFromOne)
      ->capture_default_str();
  verb->add_option("-o,--output", arguments->output, "Folder for curves.json and a plot of each figure")
      ->check(output_folder());
  verb->add_flag("--json", arguments->json, "Print the curves as JSON");
  verb->callback([arguments] {
    const Evaluation curves = compare_runs(*arguments);
    if (!arguments->output.empty()) write_evaluation(curves, arguments->output, "curves");
    print_evaluation(curves, arguments->json);
  });
}

}  // namespace lact::cli
