// A report with everything that one can hold, for tests of its forms. The numbers are made up.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lact/reproduce/verdict.h"

namespace lact::testing {

/// Text that a page must show as it is.
inline const std::string kMarkupLikeText =
    "a < b && \"c\" <img src=x onerror=\"window.broken=1\"></script><script>window.broken=1</script><!-- | "
    "*_`";

namespace sample_report_parts {

using namespace reproduce;

/// Spread of 3 % around y.
inline Line with_spread(std::string name, std::vector<double> x, std::vector<double> y) {
  Line line = {.name = std::move(name), .x = std::move(x), .y = std::move(y), .low = {}, .high = {}};
  for (const double value : line.y) {
    line.low.push_back(0.97 * value);
    line.high.push_back(1.03 * value);
  }
  return line;
}

/// Loss against position: more points than get markers.
inline Line falling(std::string name, double start, double slope) {
  std::vector<double> x, y;
  for (int i = 0; i < 120; ++i) {
    x.push_back(32.0 * i + 16);
    y.push_back(start - slope * std::log(1 + i / 6.0) + 0.01 * std::sin(1.7 * i));
  }
  Line line = {.name = std::move(name), .x = std::move(x), .y = std::move(y), .low = {}, .high = {}};
  for (size_t i = 0; i < line.y.size(); ++i) {
    line.low.push_back(line.y[i] - 0.025);
    line.high.push_back(line.y[i] + 0.025);
  }
  return line;
}

inline Section throughput() {
  Section section;
  section.id = "fig1a";
  section.title = "Figure 1a: throughput against chunk size";
  section.claim =
      "Large chunks use the processor far better than the small ones of earlier test-time training.";
  section.paper = {
      "Utilisation on an A100 rises from below 5 % (chunks of 16) to 70 % (chunks of 2048 and more)."};
  section.findings = {reaches("The largest chunk is at least twice as fast as a chunk of 16",
                              "ratio of the speeds", 6.21, 2, Direction::higher)};
  Line broken = {.name = "with gradients",
                 .x = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096},
                 .y = {180, 420, 900, std::nan(""), 2900, 3800, 4400, 4600, 4700},
                 .low = {},
                 .high = {}};
  Line limit = {
      .name = "peak of a matrix product", .x = {16, 4096}, .y = {6400, 6400}, .low = {}, .high = {}};
  limit.dashed = true;
  const Line forward = with_spread("forward only", {16, 32, 64, 128, 256, 512, 1024, 2048},
                                   {410, 900, 1700, 2600, 3900, 4700, 5200, 5500});
  section.charts = {
      {"Speed of one layer", "chunk size (tokens)", "tokens per second", true, {forward, broken, limit}}};
  section.tables = {{"Best of five runs",
                     {"chunk", "tokens per second", "share of peak", "regime"},
                     {{"16", "410 ± 12", "6.4 %", "of the original test-time training"},
                      {"256", "3900 ± 117", "61 %", "between"},
                      {"2048", "5500 ± 165", "86 %", "of the paper"},
                      {"full", "–", "–", "does not fit into memory"}}}};
  section.tables[0].rows[3][0] = "4096";
  section.notes = {"One layer of width 512 with 4 fast-weight heads; 4096 tokens; f32.",
                   "All cores, nothing beside it."};
  section.commands = {"lact bench chunks --width 512 --tokens 4096 --json",
                      "lact bench chunks --width 512 --tokens 4096 --backward --json"};
  section.seconds = 212;
  return section;
}

inline Section positions() {
  Section section;
  section.id = "fig5";
  section.title = "Figure 5: loss against position, and retrieval";
  section.claim =
      "The loss of LaCT falls with the position far beyond the window, where that of window attention stays "
      "where it is.";
  section.paper = {
      "At 32 thousand tokens LaCT with Muon is as good as full attention (760 M parameters, 40 B tokens).",
      "Window attention is worse by 0.05 nats."};
  const Sample lact = {"LaCT, Muon", {3.012, 3.021, 3.008}}, window = {"window", {3.101, 3.094, 3.112}};
  section.findings = {
      beats("LaCT has a lower loss than window attention in the last quarter", lact, window,
            Direction::lower),
      comparable("LaCT is as good as full attention", lact, {"full attention", {2.991, 2.996, 2.985}},
                 Direction::lower, 0.002),
      improves("A larger state lowers the loss",
               {{"1x", {3.05, 3.06, 3.04}}, {"2x", {3.03, 3.05, 3.02}}, {"4x", {3.04}}}, Direction::lower)};
  section.charts = {{"Loss against position",
                     "position (tokens)",
                     "loss (nats per token)",
                     false,
                     {falling("LaCT, Muon", 3.9, 0.25), falling("window", 3.9, 0.21),
                      falling("full attention", 3.88, 0.26)}},
                    {"Retrieval", "distance (tokens)", "accuracy (%)", true, {}}};
  for (const char* name : {"Transformer", "window", "GLA", "DeltaNet", "LaCT, descent", "LaCT, momentum",
                           "LaCT, Muon", "LaCT, 2x state"}) {
    const double rate = 0.4 + 0.3 * double(section.charts[1].lines.size());
    section.charts[1].lines.push_back(
        with_spread(name, {100, 300, 1000, 3000}, {97, 97 - 12 / rate, 92 - 20 / rate, 88 - 30 / rate}));
  }
  section.tables = {{"Rates that were tried, and the loss of a short run with each",
                     {"model", "parameters", "0.0005", "0.001", "0.002", "0.004", "chosen"},
                     {{"Transformer", "3.2 M", "3.412", "3.365", "3.371", "3.502", "0.001"},
                      {"window", "3.2 M", "3.455", "3.401", "3.396", "3.488", "0.002"},
                      {"LaCT, descent", "3.3 M", "3.420", "3.377", "3.369", "3.441", "0.002"},
                      {"LaCT, Muon", "3.3 M", "3.398", "3.342", "3.351", "3.433", "0.001"}}}};
  section.notes = {
      "Equal tokens: 6.55 M in every run. Parameters differ by 3 %, which the projections of the fast "
      "weights take.",
      "The window is as large as the chunk, as the paper demands."};
  for (int seed = 1; seed <= 3; ++seed)
    for (const char* mixer : {"full", "window", "lact"})
      section.commands.push_back(
          "lact lm train --config configs/lm_tiny.json --set model.mixer=" + std::string(mixer) +
          " --set train.steps=800 --set train.batch=8 --set data.length=4096 --seed " + std::to_string(seed) +
          " -o run");
  section.seconds = 7384;
  return section;
}

inline Section views(const std::string& picture) {
  Section section;
  section.id = "fig4";
  section.title = "Figure 4: quality against number of views";
  section.claim = "More input views give better pictures: " + kMarkupLikeText;
  section.paper = {kMarkupLikeText};
  section.findings = {beats(kMarkupLikeText, {"8 views", {20.1, 20.4, 20.2}}, {"4 views", {22.3, 22.1, 22.5}},
                            Direction::higher)};
  section.charts = {
      {kMarkupLikeText,
       "views",
       "PSNR (dB)",
       false,
       {with_spread(kMarkupLikeText, {1, 2, 4, 8}, {17.2, 19.4, 21.5, 23.0}),
        {.name = "one point", .x = {4}, .y = {22.2}, .low = {}, .high = {}}}},
      {"A chart whose runs all failed",
       "views",
       "PSNR (dB)",
       false,
       {{.name = "nothing", .x = {1, 2}, .y = {std::nan(""), std::nan("")}, .low = {}, .high = {}}}}};
  section.tables = {{kMarkupLikeText, {kMarkupLikeText}, {{kMarkupLikeText}}}};
  if (!picture.empty())
    section.pictures = {{picture, "A scene that no training saw: from the left the photo, 4 views, 8 views"}};
  section.notes = {kMarkupLikeText};
  section.commands = {"echo '" + kMarkupLikeText + "'"};
  section.seconds = 61;
  return section;
}

}  // namespace sample_report_parts

/// `picture` is a PNG file, shown in one of the sections; "" for none.
inline reproduce::Report sample_report(const std::string& picture) {
  using namespace sample_report_parts;
  Report report;
  report.budget = "2h";
  report.machine = "Intel Xeon with AVX-512, 2 cores";
  report.version = "lact 0.1.0, LibTorch 1.13.0";
  report.date = "2026-11-18";
  report.seeds = 3;
  Section failed;
  failed.id = "fig6a";
  failed.title = "Figure 6a: video";
  failed.notes = {"lact video train ended with exit code 2: the clips cannot be read."};
  report.sections = {throughput(), views(picture), positions(), failed};
  return report;
}

}  // namespace lact::testing
