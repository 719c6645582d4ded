// `lact plan`: what a step of a model takes on one machine or on a thousand ranks, from its config alone.
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

#include "lact/cli/numbers.h"
#include "lact/cli/plan_report.h"
#include "lact/cli/verbs.h"
#include "lact/models/plan/suggestion.h"
#include "lact/models/plan/this_machine.h"
#include "lact/models/presets.h"
#include "lact/ops/dispatch/precision.h"

namespace lact::cli {

namespace {

namespace plan = models::plan;
using options::Json;

enum class MachineName { here, a100, a100_40gb, h100 };
constexpr std::array<std::pair<MachineName, std::string_view>, 4> enum_names(MachineName) {
  return {{{MachineName::here, "this"},
           {MachineName::a100, "a100"},
           {MachineName::a100_40gb, "a100_40gb"},
           {MachineName::h100, "h100"}}};
}

struct PlanOptions {
  std::string config, mesh;
  std::vector<std::string> assignments;
  MachineName machine = MachineName::here;
  ops::Precision precision = ops::Precision::bf16;
  plan::Sizes sizes;
  plan::Arrangement arrangement;
  std::optional<nn::Recompute> recompute;
  std::optional<plan::Shard> shard;
  std::optional<int64_t> ranks, nodes, ranks_per_node;
  bool json = false;
};

/// An option that takes one of an enum's words.
template <class Enum, class Value>
CLI::Option* add_word(CLI::App& verb, const std::string& name, Value& value, const std::string& help) {
  return verb.add_option_function<std::string>(
      "--" + name,
      [&value, name](const std::string& word) {
        Enum read{};
        options::read(Json(word), read, name);
        value = read;
      },
      help);
}

plan::Machine machine_of(const PlanOptions& options, bool bf16, int64_t ranks) {
  const auto named = [&] {
    switch (options.machine) {
      case MachineName::a100:
        return plan::a100();
      case MachineName::a100_40gb:
        return plan::a100(/*large=*/false);
      case MachineName::h100:
        return plan::h100();
      default:
        return plan::this_machine(bf16, ranks);
    }
  };
  plan::Machine machine = named();
  machine.ranks_per_node = options.ranks_per_node.value_or(machine.ranks_per_node);
  return machine;
}

/// Ranks that a mesh is to be suggested for; nothing if one is given.
std::optional<int64_t> wanted_ranks(const PlanOptions& options) {
  LACT_CHECK(
      options.mesh.empty() || !(options.ranks || options.nodes),
      "[plan] --mesh says how many ranks there are: give it, or --ranks or --nodes to have one suggested");
  LACT_CHECK(!(options.ranks && options.nodes),
             "[plan] --ranks and --nodes both say how many ranks there are");
  LACT_CHECK(!options.nodes || options.machine != MachineName::here || options.ranks_per_node,
             "[plan] --nodes of this machine needs --ranks-per-node");
  if (!options.nodes) return options.ranks;
  return *options.nodes * options.ranks_per_node.value_or(plan::a100().ranks_per_node);
}

void run(const PlanOptions& options) {
  LACT_CHECK(!options.config.empty(),
             "[plan] name a preset, a model folder or a config file; lact info --list shows the presets");
  plan::Sizes sizes = options.sizes;
  sizes.bf16 = ops::resolved(options.precision) == ops::Precision::bf16;
  const plan::Workload workload =
      plan::workload(models::resolve_config(options.config, options.assignments), sizes);
  plan::Arrangement arrangement = options.arrangement;
  if (!options.mesh.empty()) arrangement.mesh = parallel::parse_mesh(options.mesh);
  arrangement.recompute = options.recompute.value_or(arrangement.recompute);
  arrangement.shard = options.shard.value_or(arrangement.shard);
  const std::optional<int64_t> ranks = wanted_ranks(options);
  if (!ranks) check_mesh(workload, arrangement);  // before anything is measured
  const int64_t all_ranks = ranks.value_or(arrangement.mesh.ranks());
  const plan::Machine machine =
      machine_of(options, sizes.bf16, std::min(all_ranks, options.ranks_per_node.value_or(all_ranks)));
  std::vector<plan::Prediction> suggested;
  if (ranks) suggested = suggest(workload, machine, *ranks, arrangement, {options.recompute, options.shard});
  const plan::Prediction best = ranks ? suggested.front() : predict(workload, machine, arrangement);
  if (options.json) {
    Json json = plan_json(options.config, workload, machine, best);
    if (ranks) json["suggestions"] = suggestions_json(suggested);
    std::cout << json.dump(2) << "\n";
    return;
  }
  std::cout << plan_report(options.config, workload, machine, best);
  if (ranks) std::cout << suggestions_report(workload, machine, suggested);
}

void add_sizes(CLI::App& verb, PlanOptions& options) {
  add_word<plan::Pass>(verb, "pass", options.sizes.pass,
                       "train, prefill (reading a text, the input views, a clean chunk) or render (a target "
                       "view; one evaluation of a video chunk)")
      ->default_str("train");
  add_number(verb, "--length", options.sizes.length, "Tokens of a text; by default 32768", kTokens);
  add_number(verb, "--views", options.sizes.views, "Input views of a scene; by default 48", kFromOne);
  add_number(verb, "--targets", options.sizes.targets, "Target views; by default 8 in training, else 1",
             kFromOne);
  add_number(verb, "--image-size", options.sizes.image_size, "Side of a view in pixels; by default 512",
             Limits{1, 1 << 20});
  add_number(verb, "--chunks", options.sizes.chunks, "Chunks of a clip; by default 7", Limits{1, 1 << 20});
  add_number(verb, "--noise-repeats", options.sizes.noise_repeats,
             "Noisy copies of each chunk in training; by default 1", Limits{1, 1000});
  add_number(verb, "--batch", options.arrangement.batch, "Sequences of a micro-batch", Limits{1, 1 << 20})
      ->capture_default_str();
  add_number(verb, "--accumulate", options.arrangement.accumulate,
             "Micro-batches of a step, which the data ranks share out; 0 is one for each of them",
             Limits{0, 1 << 20})
      ->capture_default_str();
}

void add_ways(CLI::App& verb, PlanOptions& options) {
  add_word<ops::Precision>(verb, "precision", options.precision, "Compute type: bf16, f32 or auto")
      ->default_str("bf16");
  add_word<nn::Recompute>(
      verb, "recompute", options.recompute,
      std::string("Without it, none, or the fastest that fits where a mesh is suggested; ") +
          nn::kRecomputeHelp);
  add_word<plan::Shard>(verb, "shard", options.shard,
                        "What ranks share out: none, optimizer (AdamW's moments) or parameters (weights and "
                        "gradients of blocks too, with --recompute blocks); without it, none, or the "
                        "fastest that fits");
}

}  // namespace

void add_plan(CLI::App& program, int& /*exit_code*/) {
  auto* verb = program.add_subcommand("plan", "Memory, work, messages and time of a step on any machine");
  verb->footer(
      "Example: lact plan lm_3b_paper --machine a100_40gb --mesh data=8 --shard parameters --recompute "
      "blocks\n"
      "         lact plan lm_760m --machine h100 --nodes 4 --accumulate 64\n"
      "         lact plan nvs_312m --machine a100 --pass prefill --mesh context=4\n"
      "         lact plan lm_small --length 4096 --precision f32\n"
      "How far such predictions are from measurements: docs/results/plan.md.");
  const auto options = std::make_shared<PlanOptions>();
  verb->add_option(
      "CONFIG", options->config,
      "Name of a preset, a model folder, or a config file: ours, the authors' JSON or YAML, Wan's");
  verb->add_option("--set", options->assignments,
                   "Change a field of the config: name=value; may be given repeatedly")
      ->allow_extra_args(false);
  add_word<MachineName>(*verb, "machine", options->machine,
                        "What a rank runs on: this (measured now, a few seconds), a100, a100_40gb or h100")
      ->default_str("this");
  verb->add_option("--mesh", options->mesh, "How ranks share the work, such as data=2,context=2,tensor=2");
  add_number(*verb, "--ranks", options->ranks, "Suggest meshes of so many ranks", Limits{1, 1 << 20});
  add_number(*verb, "--nodes", options->nodes, "The same, of so many machines", Limits{1, 1 << 16});
  add_number(*verb, "--ranks-per-node", options->ranks_per_node,
             "Ranks of one machine; by default 8 GPUs, or all ranks where it is this one",
             Limits{1, 1 << 10});
  add_sizes(*verb, *options);
  add_ways(*verb, *options);
  verb->add_flag("--json", options->json, "Print for a program to read");
  verb->callback([options] { run(*options); });
}

}  // namespace lact::cli
