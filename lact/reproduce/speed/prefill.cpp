// Table 2: reading a scene and rendering its views, against the number of input views.
#include <fmt/format.h>

#include <algorithm>

#include "lact/base/error.h"
#include "lact/reproduce/speed/bench_rows.h"
#include "lact/reproduce/speed/speed.h"
#include "lact/reproduce/verdict.h"

namespace lact::reproduce {

namespace {

/// Twice as many views take twice the time of what is linear and four times that of what is quadratic.
constexpr double kStillLinear = 2.5;
/// What does not grow may vary by so much from the fewest views to the most.
constexpr double kStillConstant = 1.25;

struct ViewMixer {
  const char *name, *rule, *preset;  ///< the preset has the paper's sizes
  const char *state, *prefill, *decoding, *parameters, *seconds, *frames;  ///< as the paper's table has them
};

constexpr ViewMixer kViewMixers[] = {
    {"full attention", "full", "nvs_full", "O(n)", "O(n²)", "O(n)", "284M", "16.1", "2.3"},
    {"Perceiver", "perceiver*", "nvs_perceiver", "O(1)", "O(n²)", "O(1)", "287M", "16.8", "34.4"},
    {"LaCT", "lact", "nvs_312m", "O(1)", "O(n)", "O(1)", "312M", "1.4", "38.7"}};

double seconds_of_row(const BenchRow& row) { return row.seconds; }

/// Seconds at the most views over seconds at half as many; a sentence if these are missing.
double doubled_views(const Line& line) {
  const auto half = std::find(line.x.begin(), line.x.end(), line.x.back() / 2);
  LACT_CHECK(half != line.x.end(), "[reproduce] bench views has no row of {} with {:.0f} views", line.name,
             line.x.back() / 2);
  return line.y.back() / line.y[size_t(half - line.x.begin())];
}

/// Numbers that are kept of a scene: fast weights or registers, and keys and values of all tokens.
double kept_of_scene(const options::Json& info, const std::string& command) {
  double numbers = number_of(info, "state", command);
  LACT_CHECK(info.contains("blocks"), "[reproduce] what `{}` printed has no \"blocks\"", command);
  for (const auto& block : info.at("blocks")) {
    numbers += number_of(block, "count", command) * number_of(block, "grows_per_token_d", command) *
               number_of(block, "kept_tokens", command) * number_of(info, "model_dim", command);
  }
  return numbers;
}

Table paper_prefill_table() {
  Table table = {"The paper's: 48 views of 512 x 512 pixels, A100",
                 {"", "state", "prefill", "decoding", "parameters", "prefill (s)", "frames/s"},
                 {}};
  for (const auto& m : kViewMixers)
    table.rows.push_back({m.name, m.state, m.prefill, m.decoding, m.parameters, m.seconds, m.frames});
  return table;
}

Words view_info_words(const std::string& preset) {
  return {"info", preset, "--views", "48", "--image-size", "512", "--json"};
}

Table view_size_table(const Infos& infos) {
  Table table = {"Presets of the paper's sizes, 48 views of 512 x 512 pixels (lact info)",
                 {"", "parameters", "the paper's", "numbers kept of the scene"},
                 {}};
  for (const auto& mixer : kViewMixers) {
    const auto found = infos.find(mixer.preset);
    LACT_CHECK(found != infos.end(), "[reproduce] table 2 knows nothing of {}", mixer.preset);
    const std::string command = fmt::format("lact {}", fmt::join(view_info_words(mixer.preset), " "));
    table.rows.push_back({fmt::format("{} ({})", mixer.name, mixer.preset),
                          fmt::format("{:.1f}M", number_of(found->second, "parameters", command) / 1e6),
                          mixer.parameters,
                          fmt::format("{:.4g}M", kept_of_scene(found->second, command) / 1e6)});
  }
  return table;
}

}  // namespace

Section prefill_section(const options::Json& bench, const Infos& infos, bool quick) {
  const BenchRows rows(bench, "views");
  Chart prefill = {"Reading a scene", "input views", "seconds", true, {}};
  Chart frame = {"Rendering a view", "input views", "milliseconds per frame", true, {}};
  std::vector<Line> frames_per_second;
  for (const auto& mixer : kViewMixers) {
    const auto rendered = rows.of(mixer.rule, "render", "views");
    prefill.lines.push_back(
        line_of(mixer.name, rows.of(mixer.rule, "reconstruct", "views"), "views", seconds_of_row));
    frame.lines.push_back(
        line_of(mixer.name, rendered, "views", [](const BenchRow& row) { return 1e3 * row.seconds; }));
    frames_per_second.push_back(
        line_of(mixer.name, rendered, "views", [](const BenchRow& row) { return 1 / row.seconds; }));
  }
  const Line &full = prefill.lines[0], &lact = prefill.lines[2];
  const Line &full_frame = frame.lines[0], &perceiver_frame = frame.lines[1], &lact_frame = frame.lines[2];
  const double views = lact.x.back(), fewest = lact_frame.x.front();

  Section section;
  section.claim =
      "LaCT reads a scene in a time that is linear in the input views, and renders a view in a time that "
      "does "
      "not depend on them; full attention's are quadratic and linear.";
  section.paper = {
      "48 views of 512 x 512 pixels (196K tokens) on an A100, prefill: full attention 16.1 s, "
      "Perceiver 16.8 s, LaCT 1.4 s",
      "Frames per second: full attention 2.3, Perceiver 34.4, LaCT 38.7", "Parameters: 284M, 287M, 312M"};
  const auto judge = [&](const std::string& statement, const std::string& what, double value, double limit,
                         Direction direction, const std::string& numbers) {
    section.findings.push_back(
        with_numbers(reaches(statement, what, value, limit, direction), numbers, quick));
  };
  const auto seconds = [](const Line& line) { return fmt::format("{}: {:.3g} s", line.name, line.y.back()); };
  const auto per_frame = [](const Line& line) {
    return fmt::format("{}: {:.3g} ms with {:.0f} views, {:.3g} ms with {:.0f}", line.name, line.y.front(),
                       line.x.front(), line.y.back(), line.x.back());
  };
  judge("LaCT's prefill time is linear in the views",
        fmt::format("LaCT's seconds with {:.0f} views / with {:.0f}", views, views / 2), doubled_views(lact),
        kStillLinear, Direction::lower, seconds(lact));
  judge("Full attention's is not",
        fmt::format("its seconds with {:.0f} views / with {:.0f}", views, views / 2), doubled_views(full),
        kStillLinear, Direction::higher, seconds(full));
  judge("LaCT reads many views much faster than full attention",
        fmt::format("full attention's seconds / LaCT's with {:.0f} views", views),
        full.y.back() / lact.y.back(), kMuchFaster, Direction::higher, seconds(full) + ", " + seconds(lact));
  judge("LaCT's time of a frame does not depend on the views",
        fmt::format("milliseconds of a frame with {:.0f} views / with {:.0f}", views, fewest),
        lact_frame.y.back() / lact_frame.y.front(), kStillConstant, Direction::lower, per_frame(lact_frame));
  judge("Full attention's grows with them",
        fmt::format("milliseconds of a frame with {:.0f} views / with {:.0f}", views, fewest),
        full_frame.y.back() / full_frame.y.front(), kStillConstant, Direction::higher, per_frame(full_frame));
  judge("LaCT renders much faster than full attention",
        fmt::format("full attention's time of a frame / LaCT's with {:.0f} views", views),
        full_frame.y.back() / lact_frame.y.back(), kMuchFaster, Direction::higher,
        per_frame(full_frame) + ", " + per_frame(lact_frame));
  judge("LaCT renders at least as fast as a Perceiver",
        fmt::format("the Perceiver's time of a frame / LaCT's with {:.0f} views", views),
        perceiver_frame.y.back() / lact_frame.y.back(), 1, Direction::higher,
        per_frame(perceiver_frame) + ", " + per_frame(lact_frame));

  section.tables = {table_of("Prefill (s)", "input views", prefill.lines, "{:.3g}"),
                    table_of("Frames per second", "input views", frames_per_second, "{:.3g}"),
                    view_size_table(infos), paper_prefill_table()};
  section.charts = {std::move(prefill), std::move(frame)};

  std::string parameters;
  for (const auto& mixer : kViewMixers) {
    const double count = rows.of(mixer.rule, "render", "views").front().size("parameters");
    parameters += fmt::format("{}{} {:.4g}M", parameters.empty() ? "" : ", ", mixer.name, count / 1e6);
  }
  const BenchRow one = rows.of("lact", "reconstruct", "views").back();
  section.notes = {
      rows.machine(),
      fmt::format(
          "Measured models, in bfloat16: {} parameters, of the same width and number of blocks; views of "
          "{:.0f} x {:.0f} pixels, {:.0f} tokens each, {:.0f} tokens with the most views. Weights are fresh: "
          "their values do not change the time.",
          parameters, one.size("pixels"), one.size("pixels"), one.size("tokens_of_view"),
          one.size("tokens_of_view") * views),
      "The Perceiver has as many registers as a view has tokens, as in the paper. Its input views do not "
      "attend to each other here, so that its prefill is linear; the paper's is quadratic."};
  return section;
}

Experiment prefill_experiment(const Plan& plan) {
  const bool quick = plan.smoke();
  Experiment experiment = {"tab2", "Table 2: prefill and rendering against input views", {}, {}};
  experiment.steps.push_back({.id = "bench_views",
                              .label = "prefill and rendering against views",
                              .words = bench_words("views", quick, plan.by_budget({1, 3, 7, 7}), {}),
                              .alone = true,
                              .work = double(plan.by_budget({6, 180, 400, 400}))});
  for (const auto& mixer : kViewMixers) {
    experiment.steps.push_back({.id = std::string("info_") + mixer.preset,
                                .label = std::string("sizes of ") + mixer.preset,
                                .words = view_info_words(mixer.preset),
                                .work = 0.2});
  }
  experiment.section = [quick](const Results& results) {
    Infos infos;
    for (const auto& mixer : kViewMixers)
      infos[mixer.preset] = results.json(std::string("info_") + mixer.preset);
    return prefill_section(results.json("bench_views"), infos, quick);
  };
  return experiment;
}

}  // namespace lact::reproduce
