// `lact reproduce`: the paper's figures and tables in miniature, by the commands of this program.
#include <torch/version.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/base/log.h"
#include "lact/base/threads.h"
#include "lact/base/version.h"
#include "lact/bench/machine.h"
#include "lact/cli/launched_command.h"
#include "lact/cli/numbers.h"
#include "lact/cli/outputs.h"
#include "lact/cli/verbs.h"
#include "lact/kernels/isa.h"
#include "lact/models/presets.h"
#include "lact/reproduce/record.h"
#include "lact/reproduce/report.h"
#include "lact/reproduce/suite.h"

namespace lact::cli {

namespace {

using options::Json;
using reproduce::Experiment;
using reproduce::Words;

struct ReproduceArguments {
  reproduce::Budget budget = reproduce::Budget::two_hours;
  std::vector<std::string> only;
  std::optional<int64_t> seeds, jobs;
  std::string output = "reproduce", record, recorded;
  bool list = false, dry_run = false, report_only = false, json = false;
};

/// All fields of the presets that the words name: a changed preset is another experiment.
std::string meaning_of(const Words& words) {
  std::string text;
  for (const auto& word : words) {
    const size_t equals = word.find('=');
    const std::string name =
        word.starts_with("-") && equals != std::string::npos ? word.substr(equals + 1) : word;
    for (const auto& preset : models::presets())
      if (preset.name == name) text += models::config_text(preset.make());
  }
  return text;
}

/// The words to go on with after an interrupt; of `lact launch` those of the command that it runs.
Words words_again(const Words& words) {
  if (words.empty() || words.front() != "launch") return LaunchedCommand(words).words_again();
  const auto marker = std::find(words.begin(), words.end(), "--");
  if (marker == words.end()) return words;
  Words again(words.begin(), marker + 1);
  for (auto& word : LaunchedCommand(Words(marker + 1, words.end())).words_again())
    again.push_back(std::move(word));
  return again;
}

std::vector<Experiment> chosen(const std::vector<Experiment>& all, const std::vector<std::string>& only) {
  std::vector<std::string> known;
  for (const auto& experiment : all) known.push_back(experiment.id);
  for (const auto& id : only) {
    if (std::count(known.begin(), known.end(), id) > 0) continue;
    fail("[reproduce] --only {} is no experiment; there are {}", id, fmt::join(known, ", "));
  }
  std::vector<Experiment> result;
  for (const auto& experiment : all)
    if (only.empty() || std::count(only.begin(), only.end(), experiment.id) > 0) result.push_back(experiment);
  return result;
}

reproduce::SuiteOptions suite_options(const ReproduceArguments& arguments, const reproduce::Plan& plan) {
  reproduce::SuiteOptions options;
  const int64_t cores = available_cores();
  options.folder = arguments.output;
  options.heading.budget = options::word_of(plan.budget);
  options.heading.seeds = plan.seeds;
  options.heading.version = fmt::format("lact {}, LibTorch {}", version(), TORCH_VERSION);
  options.heading.machine =
      fmt::format("{}, {}, {} cores", bench::cpu_name(), kernels::isa_name(kernels::isa()), cores);
  options.running.jobs = size_t(arguments.jobs.value_or(cores));
  options.running.cores = cores;
  options.running.words_again = words_again;
  options.meaning = meaning_of;
  return options;
}

void print_list(const std::vector<Experiment>& experiments, bool as_json) {
  Json json = Json::array();
  for (const auto& experiment : experiments) {
    double work = 0;
    for (const auto& step : experiment.steps) work += step.work;
    json.push_back({{"id", experiment.id},
                    {"title", experiment.title},
                    {"steps", experiment.steps.size()},
                    {"core_seconds", work}});
    if (as_json) continue;
    std::cout << fmt::format("{:<10} {:>4} steps {:>14} of a core  {}\n", experiment.id,
                             experiment.steps.size(), format_duration(work), experiment.title);
  }
  if (as_json) std::cout << json.dump(2) << "\n";
}

void print_plan(reproduce::Suite& suite, bool as_json) {
  const double left = suite.seconds_left();
  Json json = {{"seconds", left}, {"steps", Json::array()}};
  for (const auto& step : suite.plan()) {
    json["steps"].push_back({{"id", step.id},
                             {"label", step.label},
                             {"experiments", step.experiments},
                             {"needs", step.needs},
                             {"command", step.command},
                             {"core_seconds", step.work},
                             {"alone", step.alone},
                             {"done", step.done}});
    if (as_json) continue;
    std::cout << fmt::format("# {}: {} ({}{})\n", fmt::join(step.experiments, ", "), step.label,
                             step.done ? "done" : format_duration(step.work), step.alone ? ", alone" : "");
    if (!step.command.empty()) std::cout << step.command << "\n";
    if (step.command.empty())
      std::cout << fmt::format("# chosen from the results of {}\n", fmt::join(step.needs, ", "));
  }
  if (as_json) {
    std::cout << json.dump(2) << "\n";
  } else {
    std::cout << "# about " << format_duration(left) << " in all\n";
  }
}

void print_outcome(const reproduce::SuiteOutcome& outcome, const ReproduceArguments& arguments) {
  if (!arguments.json) {
    std::cout << verdict_table(outcome);
    log::info("the report is {0}/report.html, and {0}/report.md", arguments.output);
    return;
  }
  Json json = {{"folder", arguments.output}, {"ran", outcome.ran},
               {"cached", outcome.cached},   {"failed", outcome.failed},
               {"failures", Json::object()}, {"report", options::write(outcome.report)}};
  for (const auto& experiment : outcome.experiments)
    if (!experiment.failure.empty()) json["failures"][experiment.id] = experiment.failure;
  std::cout << json.dump() << "\n";
}

/// What was recorded, perhaps piece by piece and on several machines, as one report.
reproduce::SuiteOutcome recorded_outcome(const ReproduceArguments& arguments,
                                         const std::vector<Experiment>& all) {
  std::vector<std::string> ids;
  for (const auto& experiment : all) ids.push_back(experiment.id);
  reproduce::SuiteOutcome outcome;
  outcome.report = reproduce::read_records(arguments.recorded, ids);
  for (const auto& section : outcome.report.sections)
    outcome.experiments.push_back({.id = section.id,
                                   .title = section.title,
                                   .done = int64_t(section.commands.size()),
                                   .total = int64_t(section.commands.size()),
                                   .failure = {},
                                   .section = section});
  reproduce::write_report(outcome.report, arguments.output);
  return outcome;
}

int run(const ReproduceArguments& arguments) {
  const bool smoke = arguments.budget == reproduce::Budget::smoke;
  const reproduce::Plan plan = {.budget = arguments.budget, .seeds = arguments.seeds.value_or(smoke ? 1 : 3)};
  const std::vector<Experiment> all = reproduce::experiments(plan);
  const std::vector<Experiment> wanted = chosen(all, arguments.only);
  if (arguments.list) {
    print_list(wanted, arguments.json);
    return 0;
  }
  if (!arguments.recorded.empty()) {
    print_outcome(recorded_outcome(arguments, all), arguments);
    return 0;
  }
  reproduce::Suite suite(wanted, all, suite_options(arguments, plan));
  if (arguments.dry_run) {
    print_plan(suite, arguments.json);
    return 0;
  }
  LACT_CHECK(!arguments.report_only || std::filesystem::exists(arguments.output),
             "{}: there is no such folder, expected one that an earlier run has left", arguments.output);
  const auto outcome = arguments.report_only ? suite.report_only() : suite.run();
  if (!arguments.record.empty()) write_record(suite, outcome, arguments.record);
  print_outcome(outcome, arguments);
  if (outcome.interrupted) {
    log::info("stopped; the same command goes on where it was: finished steps in {} are not run again",
              arguments.output);
    return kExitInterrupted;
  }
  return outcome.any_failed() ? 1 : 0;
}

}  // namespace

void add_reproduce(CLI::App& program, int& exit_code) {
  const auto arguments = std::make_shared<ReproduceArguments>();
  auto* verb =
      program.add_subcommand("reproduce", "The paper's figures and tables in miniature, with a report");
  verb->footer(
      "Each experiment is a list of commands of this program, which are printed and could be typed. What is\n"
      "finished is never run again: the same command goes on after a stop, and trainings go on from their\n"
      "last checkpoint. The report is report.html and report.md in the output folder. Exit code 1: an\n"
      "experiment has failed; its section says why. How it works: docs/reproduce.md.\n\n"
      "Example: lact reproduce --list\n"
      "         lact reproduce --budget smoke -o out\n"
      "         lact reproduce --budget 8h --only fig1a,fig5 --seeds 3 -o out\n"
      "         lact reproduce --budget 8h -o out --report-only --record docs/results/reproduce\n"
      "         lact reproduce --recorded docs/results/reproduce -o out");
  verb->add_option_function<std::string>(
          "--budget",
          [arguments](const std::string& word) { options::read(Json(word), arguments->budget, "--budget"); },
          "How much of everything: smoke (two minutes, to see that all of it runs), 2h, 8h or overnight, on "
          "two cores")
      ->default_str("2h");
  verb->add_option("--only", arguments->only, "Experiments, such as fig1a,fig5; all unless given")
      ->delimiter(',');
  add_number(*verb, "--seeds", arguments->seeds,
             "Trainings of each contender that differ in nothing but the seed; 3 unless given, of smoke 1",
             Limits{1, 100});
  add_number(*verb, "--jobs", arguments->jobs,
             "Steps at a time, with a core each; as many as there are cores unless given", Limits{1, 4096});
  verb->add_option("-o,--output", arguments->output, "Folder of the steps and the report")
      ->check(output_folder())
      ->capture_default_str();
  verb->add_option("--record", arguments->record,
                   "Folder for a JSON file of each section: its numbers, and the settings and curves of all "
                   "trainings behind them")
      ->check(output_folder());
  verb->add_flag("--list", arguments->list, "List the experiments");
  auto* dry_run =
      verb->add_flag("--dry-run", arguments->dry_run, "Print all commands and the time they would take");
  auto* report_only = verb->add_flag("--report-only", arguments->report_only,
                                     "Make the report of what is there, and run nothing")
                          ->excludes(dry_run);
  verb->add_option("--recorded", arguments->recorded,
                   "Make the report of all that --record has left in this folder, at whatever time and on "
                   "whatever machine, and run nothing")
      ->excludes(dry_run)
      ->excludes(report_only);
  verb->add_flag("--json", arguments->json, "Print for a program to read");
  verb->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace lact::cli
