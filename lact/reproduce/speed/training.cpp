// Tables 3 and 7: training throughput and state size of LaCT and what it is compared with.
#include <fmt/format.h>

#include <algorithm>

#include "lact/base/error.h"
#include "lact/reproduce/speed/bench_rows.h"
#include "lact/reproduce/speed/speed.h"
#include "lact/reproduce/verdict.h"

namespace lact::reproduce {

namespace {

constexpr const char* kStepPass = "training step";
/// "About as fast": at least four fifths. What costs little: at least nine tenths.
constexpr double kAboutAsFast = 0.8, kCostsLittle = 0.9;

struct TextMixer {
  const char *name, *rule, *preset;  ///< the preset has the paper's sizes
  double paper_state_d;              ///< per block, in widths of the model; 0 where the paper has none
  double paper_tokens;               ///< thousands per second and GPU
};

constexpr TextMixer kTextMixers[] = {
    {"Transformer", "full", "lm_3b_full", 0, 4.1},
    {"window attention", "window", "lm_3b_window", 0, 6.4},
    {"GLA", "gla", "lm_3b_gla", 384, 5.0},
    {"DeltaNet", "deltanet", "lm_3b_deltanet", 128, 5.1},
    {"LaCT with gradient descent", "lact gd", "lm_3b_paper", 2304, 5.0},
    {"LaCT with momentum", "lact momentum", "lm_3b_paper", 2304, 4.9},
    {"LaCT with Muon", "lact", "lm_3b_paper", 2304, 4.3},
};
enum TextContender { kTransformer, kWindow, kGla, kDeltaNet, kDescent, kMomentum, kMuon };

Words text_info_words(const std::string& preset) { return {"info", preset, "--tokens", "32768", "--json"}; }
std::string text_info_command(const std::string& preset) {
  return fmt::format("lact {}", fmt::join(text_info_words(preset), " "));
}

const options::Json& text_info_of(const Infos& infos, const char* preset) {
  const auto found = infos.find(preset);
  LACT_CHECK(found != infos.end(), "[reproduce] tables 3 and 7 know nothing of {}", preset);
  return found->second;
}

/// The longest text that all were measured on.
double common_text_length(const std::vector<Line>& lines) {
  double longest = 0;
  for (const double length : lines.front().x) {
    const bool common = std::all_of(lines.begin(), lines.end(), [&](const Line& line) {
      return std::find(line.x.begin(), line.x.end(), length) != line.x.end();
    });
    if (common) longest = std::max(longest, length);
  }
  LACT_CHECK(longest > 0, "[reproduce] bench mixers has no length at which all were measured");
  return longest;
}

Table throughput_table(const std::vector<double>& rates, const std::vector<BenchRow>& rows, double length) {
  Table table = {fmt::format("A training step on {:.0f} tokens, and the paper's", length),
                 {"", "state / d", "tokens/s", "of the Transformer's", "paper: state / d", "paper: tokens/s",
                  "paper: of the Transformer's"},
                 {}};
  for (size_t i = 0; i < rates.size(); ++i) {
    const TextMixer& mixer = kTextMixers[i];
    const double state = rows[i].size("state") / rows[i].size("width");
    table.rows.push_back(
        {mixer.name, state > 0 ? fmt::format("{:g}", state) : "-", fmt::format("{:.0f}", rates[i]),
         fmt::format("{:.2f}", rates[i] / rates[kTransformer]),
         mixer.paper_state_d > 0 ? fmt::format("{:g}", mixer.paper_state_d) : "-",
         fmt::format("{:.1f}K", mixer.paper_tokens),
         fmt::format("{:.2f}", mixer.paper_tokens / kTextMixers[kTransformer].paper_tokens)});
  }
  return table;
}

Table text_state_table(const Infos& infos) {
  Table table = {"Presets of the paper's sizes, 32768 tokens (lact info)",
                 {"preset", "parameters", "state per block / d", "grows per token and block / d"},
                 {}};
  std::string last;
  for (const TextMixer& mixer : kTextMixers) {
    if (last == mixer.preset) continue;
    last = mixer.preset;
    const options::Json& info = text_info_of(infos, mixer.preset);
    const std::string command = text_info_command(mixer.preset);
    LACT_CHECK(info.contains("blocks") && !info.at("blocks").empty(),
               "[reproduce] what `{}` printed has no \"blocks\"", command);
    table.rows.push_back(
        {mixer.preset, fmt::format("{:.0f}M", number_of(info, "parameters", command) / 1e6),
         fmt::format("{:g}", number_of(info, "state_per_block_d", command)),
         fmt::format("{:g}", number_of(info.at("blocks")[0], "grows_per_token_d", command))});
  }
  return table;
}

/// What the paper's order of throughputs says, in ratios.
std::vector<Finding> throughput_order(const std::vector<double>& rates, double length, bool quick) {
  std::vector<Finding> findings;
  const auto judge = [&](const std::string& statement, TextContender one, TextContender other, double limit,
                         Direction direction) {
    const std::string what = fmt::format("tokens per second of {} / of {} on {:.0f} tokens",
                                         kTextMixers[one].name, kTextMixers[other].name, length);
    findings.push_back(with_numbers(
        reaches(statement, what, rates[one] / rates[other], limit, direction),
        fmt::format("{:.0f} against {:.0f} tokens/s; the paper's ratio is {:.2f}", rates[one], rates[other],
                    kTextMixers[one].paper_tokens / kTextMixers[other].paper_tokens),
        quick));
  };
  judge("LaCT with Muon trains faster than full attention on long texts", kMuon, kTransformer, 1,
        Direction::higher);
  judge("LaCT with gradient descent is about as fast as GLA, with more state", kDescent, kGla, kAboutAsFast,
        Direction::higher);
  judge("LaCT with gradient descent is about as fast as DeltaNet, with more state", kDescent, kDeltaNet,
        kAboutAsFast, Direction::higher);
  judge("Momentum costs little", kMomentum, kDescent, kCostsLittle, Direction::higher);
  judge("Muon is slower than momentum", kMuon, kMomentum, 1, Direction::lower);
  const TextContender rivals[] = {kGla, kDeltaNet, kDescent};
  const TextContender fastest =
      *std::max_element(std::begin(rivals), std::end(rivals),
                        [&](TextContender a, TextContender b) { return rates[a] < rates[b]; });
  judge("Window attention alone is the fastest", kWindow, fastest, 1, Direction::higher);
  return findings;
}

}  // namespace

Section training_section(const options::Json& bench, const Infos& infos, bool quick) {
  const BenchRows rows(bench, "mixers");
  const auto rate_of = [](const BenchRow& row) { return row.size("tokens") / row.seconds; };
  Chart chart = {"Training throughput", "tokens of the text", "tokens per second", true, {}};
  for (const TextMixer& mixer : kTextMixers)
    chart.lines.push_back(line_of(mixer.name, rows.of(mixer.rule, kStepPass, "tokens"), "tokens", rate_of));
  const double length = common_text_length(chart.lines);
  std::vector<double> rates;
  std::vector<BenchRow> at_length;
  for (const TextMixer& mixer : kTextMixers) {
    const auto of_mixer = rows.of(mixer.rule, kStepPass, "tokens");
    at_length.push_back(*std::find_if(of_mixer.begin(), of_mixer.end(),
                                      [&](const BenchRow& row) { return row.size("tokens") == length; }));
    rates.push_back(rate_of(at_length.back()));
  }

  Section section;
  section.claim =
      "LaCT trains about as fast as per-token recurrences with several times their state, and faster than "
      "full "
      "attention on long texts; Muon costs some of it.";
  section.paper = {
      "Tokens per second and A100, 3B parameters, 32K tokens: Transformer 4.1K, with a window 6.4K, GLA "
      "5.0K, DeltaNet 5.1K, LaCT with gradient descent 5.0K, momentum 4.9K, Muon 4.3K",
      "State per block: GLA 384 d, DeltaNet 128 d, LaCT 2304 d"};
  section.findings = throughput_order(rates, length, quick);
  for (const TextContender one : {kGla, kDeltaNet, kMuon}) {
    const TextMixer& mixer = kTextMixers[one];
    section.findings.push_back(equals(
        fmt::format("The state of {} has {:g} d numbers per block", one == kMuon ? "LaCT" : mixer.name,
                    mixer.paper_state_d),
        fmt::format("the state of {} per block, in widths of the model", mixer.preset),
        number_of(text_info_of(infos, mixer.preset), "state_per_block_d", text_info_command(mixer.preset)),
        mixer.paper_state_d));
  }
  section.tables = {throughput_table(rates, at_length, length),
                    table_of("Tokens per second", "tokens of the text", chart.lines, "{:.0f}"),
                    text_state_table(infos)};
  section.charts.push_back(std::move(chart));

  const BenchRow& lact = at_length[kMuon];
  std::string parameters;
  for (size_t i = 0; i < at_length.size(); ++i) {
    parameters += fmt::format("{}{} {:.3g}M", i == 0 ? "" : ", ", kTextMixers[i].name,
                              at_length[i].size("parameters") / 1e6);
  }
  section.notes = {
      rows.machine(),
      fmt::format(
          "Measured is one block (layer, norms and feed-forward network) of width {:.0f} in bfloat16, "
          "forward "
          "and backward, without embedding, head and optimizer; the paper measures 3B models of width 3072 "
          "with activation checkpointing on 8 GPUs.",
          lact.size("width")),
      fmt::format("Chunks and windows of {:.0f} and {:.0f} tokens; all but the Transformer have the window. "
                  "Parameters of "
                  "the block: {}.",
                  lact.size("chunk"), lact.size("window"), parameters),
      "The narrower a block is, the more the state weighs in it: the states measured here are larger parts "
      "of "
      "a block's work than the paper's."};
  return section;
}

Experiment training_experiment(const Plan& plan) {
  const bool quick = plan.smoke();
  Words more = {"--block"};
  if (!quick) more.insert(more.end(), {"--budget", plan.budget == Budget::two_hours ? "12" : "60"});
  // Other passes, mamba2 and ttt are in no table.
  for (const TextMixer& mixer : kTextMixers)
    more.insert(more.end(), {"--shape", fmt::format("tokens {} {}", mixer.rule, kStepPass)});
  Experiment experiment = {"tab3", "Tables 3 and 7: training throughput and state size", {}, {}};
  experiment.steps.push_back({.id = "bench_mixers",
                              .label = "training throughput against the length of the text",
                              .words = bench_words("mixers", quick, plan.by_budget({1, 3, 7, 7}), more),
                              .alone = true,
                              .work = double(plan.by_budget({6, 600, 1800, 1800}))});
  std::string last;
  for (const TextMixer& mixer : kTextMixers) {
    if (last == mixer.preset) continue;
    last = mixer.preset;
    experiment.steps.push_back({.id = std::string("info_") + mixer.preset,
                                .label = std::string("sizes of ") + mixer.preset,
                                .words = text_info_words(mixer.preset),
                                .work = 0.2});
  }
  experiment.section = [quick](const Results& results) {
    Infos infos;
    for (const TextMixer& mixer : kTextMixers)
      infos[mixer.preset] = results.json(std::string("info_") + mixer.preset);
    return training_section(results.json("bench_mixers"), infos, quick);
  };
  return experiment;
}

}  // namespace lact::reproduce
