#include <CLI/CLI.hpp>

#include <iostream>

#include "lact/base/log.h"
#include "lact/cli/device.h"
#include "lact/cli/verbs.h"
#include "lact/golden/golden.h"

namespace lact::cli {

namespace {

using golden::Report;
using golden::Worst;

std::string number(const Worst& worst) { return worst.checked ? fmt::format("{:.1e}", worst.error) : "-"; }

const std::string kNotComputed = "not computed by this build";

std::string result_of(const Report& report) {
  if (!report.computed) return fmt::format("{}: {}", kNotComputed, report.kind);
  return report.passed() ? "pass" : "FAIL: " + report.failure;
}

void print_row(const Report& report, int width) {
  std::cout << fmt::format("{:<{}}  {:<7}  {:>8}  {:>8}  {:>9}  {:>9}  {}\n", report.name, width,
                           report.computed ? report.precision : "-", number(report.outputs),
                           number(report.state), number(report.gradients),
                           report.tolerance > 0 ? fmt::format("{:.1e}", report.tolerance) : "-",
                           result_of(report));
}

nlohmann::ordered_json to_json(const Report& report) {
  const auto value = [](const Worst& worst) {
    return worst.checked ? nlohmann::ordered_json(worst.error) : nlohmann::ordered_json(nullptr);
  };
  return {{"case", report.name},
          {"kind", report.kind},
          {"precision", report.precision},
          {"outputs", value(report.outputs)},
          {"final_weights", value(report.state)},
          {"gradients", value(report.gradients)},
          {"tolerance", report.tolerance},
          {"worst_tensor", report.worst_tensor},
          {"computed", report.computed},
          {"passed", report.passed()},
          {"failure", report.failure}};
}

}  // namespace

void add_golden(CLI::App& program, int& exit_code) {
  struct Arguments {
    golden::Options options;
    bool json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb =
      program.add_subcommand("golden", "Check this build against stored inputs, outputs and gradients");
  verb->add_option(
      "DIR", arguments->options.folder,
      "Folder with cases: <name>.json and <name>.safetensors; without it those that come with the "
      "program, some of every kind");
  verb->add_option("--filter", arguments->options.filter, "Only cases whose name or kind contains this text");
  verb->add_flag("--json", arguments->json, "Print the table as JSON");
  verb->footer(
      "Errors are relative to the largest element of each tensor; the tolerance shown is that of the tensor "
      "that came\n"
      "closest to its limit. Cases of a kind that this build does not compute are counted apart. Exit code 1 "
      "if a case\nfails.\n\nExample: lact golden --filter ttt");
  verb->callback([arguments, &exit_code] {
    needs_processor("golden");
    static constexpr int kNameWidth = 52;
    if (!arguments->json) {
      // The head of the table waits for the first row, so that a mistake prints nothing on stdout.
      arguments->options.on_report = [first = true](const Report& report) mutable {
        if (first) {
          std::cout << fmt::format("{:<{}}  {:<7}  {:>8}  {:>8}  {:>9}  {:>9}  result\n", "case", kNameWidth,
                                   "type", "outputs", "weights", "gradients", "tolerance");
        }
        first = false;
        print_row(report, kNameWidth);
      };
    }
    if (arguments->options.folder.empty()) arguments->options.folder = golden::bundled_cases();
    const auto reports = run_all(arguments->options);
    const auto count = [&](auto property) { return std::count_if(reports.begin(), reports.end(), property); };
    const auto failed = count([](const Report& report) { return report.failed(); });
    if (arguments->json) {
      nlohmann::ordered_json rows = nlohmann::ordered_json::array();
      for (const auto& report : reports) rows.push_back(to_json(report));
      std::cout << rows.dump(2) << "\n";
    } else {
      const auto passed = count([](const Report& report) { return report.passed(); });
      const auto left = count([](const Report& report) { return !report.computed; });
      std::cout << fmt::format("{} passed, {} failed", passed, failed)
                << (left > 0 ? fmt::format(", {} {}", left, kNotComputed) : "") << "\n";
    }
    if (failed > 0) exit_code = 1;
  });
}

}  // namespace lact::cli
