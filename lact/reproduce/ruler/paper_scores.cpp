#include "lact/reproduce/ruler/paper_scores.h"

#include <fmt/format.h>

#include <array>

namespace lact::reproduce::ruler {

namespace {

constexpr std::array kLengths = {"4K", "8K", "16K", "32K"};

struct Row {
  std::string size, model;
  std::array<double, 16> scores;  // three tasks and their average, each at the four lengths
};

const std::vector<Row>& rows(Needles needles) {
  static const std::vector<Row> single = {
      {"760M",
       "Transformer",
       {99.2, 96.6, 85.2, 68, 100, 100, 85.8, 82.2, 81, 73.8, 74.8, 36.8, 93.4, 90.1, 81.9, 62.3}},
      {"760M",
       "DeltaNet + window",
       {84, 85.2, 87.8, 86.8, 62.8, 29.4, 14.2, 7.8, 53.8, 21.8, 11.2, 5.8, 66.9, 45.5, 37.7, 33.5}},
      {"760M",
       "GLA + window",
       {51.8, 26.2, 14.4, 8.6, 55.8, 26.4, 15.8, 7.8, 58, 23.8, 16.2, 5, 55.2, 25.5, 15.5, 7.1}},
      {"760M",
       "LaCT",
       {94.8, 53.2, 26, 14.8, 74, 28, 14.2, 7.8, 42.8, 26.6, 14.4, 6.8, 70.5, 35.9, 18.2, 9.8}},
      {"760M",
       "LaCT, momentum",
       {95.6, 84.8, 83.4, 84.8, 91.4, 73.4, 22.8, 7.8, 82.6, 34.8, 16.6, 6.6, 89.9, 64.3, 40.9, 33.1}},
      {"760M",
       "LaCT, momentum, 2 heads",
       {59, 30, 12.4, 8.4, 93.4, 50, 18.2, 7.8, 60.2, 25.6, 14.2, 6.8, 70.9, 35.2, 14.9, 7.7}},
      {"760M",
       "LaCT, Muon",
       {98, 95, 92.2, 92.4, 86.6, 60.2, 17, 7.8, 49.2, 26.2, 10.9, 5.2, 77.9, 60.5, 40, 35.1}},
      {"3B",
       "Transformer",
       {100, 100, 100, 100, 100, 99.8, 100, 98.6, 98.6, 95.8, 90.8, 75, 99.5, 98.5, 96.9, 91.2}},
      {"3B",
       "GLA + window",
       {100, 52.8, 26, 13.2, 100, 51.8, 29.6, 14.4, 98, 54.4, 27.6, 12.4, 99.3, 53, 27.7, 13.3}},
      {"3B",
       "DeltaNet + window",
       {100, 89.6, 76.2, 54.8, 100, 76.4, 42.2, 17, 90.6, 57.6, 27.4, 13.4, 96.9, 74.5, 48.6, 28.4}},
      {"3B",
       "LaCT, momentum",
       {99.4, 97, 98.6, 93.4, 100, 75.6, 39.6, 15, 91.8, 63, 27.8, 13.4, 97.1, 78.5, 55.3, 40.6}},
      {"3B",
       "LaCT, Muon",
       {98.8, 99.2, 98.6, 93.4, 100, 99, 83.2, 30.8, 95.4, 90.8, 55.6, 19.8, 98.1, 96.3, 79.1, 48}},
  };
  static const std::vector<Row> several = {
      {"760M",
       "Transformer",
       {63.8, 72, 71.4, 54, 33.4, 28.9, 24, 23.1, 27.95, 24, 20.5, 27.35, 41.7, 41.6, 38.6, 34.8}},
      {"760M",
       "DeltaNet + window",
       {41.2, 30, 14.6, 8.2, 33, 22.45, 7.5, 4.3, 32.4, 22.8, 9.15, 6.6, 35.5, 25.1, 10.4, 6.4}},
      {"760M",
       "GLA + window",
       {45.4, 28.4, 15.8, 6.6, 26.1, 17.75, 10.2, 5.85, 25.4, 16.85, 10.1, 6.6, 32.3, 21, 12, 6.3}},
      {"760M",
       "LaCT",
       {60.8, 34.6, 16.8, 7, 35, 23.65, 14.1, 7.45, 20.7, 22.05, 12.7, 6.85, 38.8, 26.8, 14.5, 7.1}},
      {"760M",
       "LaCT, momentum",
       {62, 41, 21.2, 10.4, 35.3, 24.95, 17.7, 8.6, 27.9, 23.15, 16.65, 8.2, 41.7, 29.7, 18.5, 9.1}},
      {"760M",
       "LaCT, momentum, 2 heads",
       {59.8, 37.8, 19.2, 8.8, 36.65, 20.45, 12.5, 7.4, 24.45, 16.95, 11.6, 6.8, 40.3, 25.1, 14.4, 7.7}},
      {"760M",
       "LaCT, Muon",
       {62.8, 46.6, 22, 8.6, 37.7, 26.55, 15.7, 7.1, 28.35, 23.15, 13.6, 6.85, 42.9, 32.1, 17.1, 7.5}},
      {"3B",
       "Transformer",
       {95, 90.4, 81.6, 65.2, 86.45, 81.55, 71.7, 40.85, 61.8, 42.8, 30.75, 22.9, 81.1, 71.6, 61.4, 43}},
      {"3B",
       "GLA + window",
       {78, 45.8, 28.6, 14.4, 50.05, 28.05, 19, 10.7, 29.4, 21.4, 16.75, 9.9, 52.5, 31.8, 21.4, 11.7}},
      {"3B",
       "DeltaNet + window",
       {75.8, 57.4, 34.2, 17.8, 66.25, 33.05, 21.45, 13.45, 43.7, 23.2, 18.85, 13.2, 61.9, 37.9, 24.8, 14.8}},
      {"3B",
       "LaCT, momentum",
       {96.2, 59.6, 35, 17.2, 87.05, 40.25, 25.6, 13.2, 88.08, 30.65, 21.9, 12.3, 90.4, 43.5, 27.5, 14.2}},
      {"3B",
       "LaCT, Muon",
       {75.2, 69.2, 46.2, 25.2, 44.75, 39.1, 24.9, 19, 26.55, 29.1, 25.05, 19.3, 48.8, 45.8, 32, 21.2}},
  };
  return needles == Needles::single ? single : several;
}

}  // namespace

Table paper_table(Needles needles) {
  Table table{"The paper's models, right answers, %", {"Model"}, {}};
  const std::array<std::string, 4> tasks =
      needles == Needles::single ? std::array<std::string, 4>{"S-NIAH-1", "S-NIAH-2", "S-NIAH-3", "Average"}
                                 : std::array<std::string, 4>{"MK-NIAH", "MQ-NIAH", "MV-NIAH", "Average"};
  for (const auto& task : tasks)
    for (const char* length : kLengths) table.header.push_back(fmt::format("{} {}", task, length));
  for (const auto& row : rows(needles)) {
    std::vector<std::string> cells = {fmt::format("{} {}", row.size, row.model)};
    for (const double score : row.scores) cells.push_back(fmt::format("{:g}", score));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::vector<std::string> paper_averages(Needles needles) {
  std::vector<std::string> sentences;
  for (const auto& row : rows(needles)) {
    if (row.size != "3B") continue;
    std::string sentence = fmt::format("{}, {}: on average", row.size, row.model);
    for (size_t i = 0; i < kLengths.size(); ++i)
      sentence += fmt::format("{} {:g}% at {} tokens", i == 0 ? "" : ",", row.scores[12 + i], kLengths[i]);
    sentences.push_back(sentence);
  }
  return sentences;
}

}  // namespace lact::reproduce::ruler
