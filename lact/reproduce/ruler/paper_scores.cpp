#include "lact/reproduce/ruler/paper_scores.h"

#include <fmt/format.h>

#include <array>

namespace lact::reproduce::ruler {

namespace {

struct Row {
  const char* size;
  const char* model;
  std::array<double, 4> average;  // 4K, 8K, 16K, 32K
};

template <class Rows>
std::vector<std::string> sentences(const Rows& rows) {
  std::vector<std::string> all;
  for (const auto& [size, model, average] : rows) {
    all.push_back(
        fmt::format("{}, {}: {:.1f}% on average at 4K tokens, {:.1f}% at 8K, {:.1f}% at 16K, "
                    "{:.1f}% at 32K",
                    size, model, average[0], average[1], average[2], average[3]));
  }
  return all;
}

}  // namespace

std::vector<std::string> paper_single_needles() {
  static constexpr std::array rows = {
      Row{"760M", "Transformer", {93.4, 90.1, 81.9, 62.3}},
      Row{"760M", "DeltaNet + window", {66.9, 45.5, 37.7, 33.5}},
      Row{"760M", "GLA + window", {55.2, 25.5, 15.5, 7.1}},
      Row{"760M", "LaCT", {70.5, 35.9, 18.2, 9.8}},
      Row{"760M", "LaCT, momentum", {89.9, 64.3, 40.9, 33.1}},
      Row{"760M", "LaCT, Muon", {77.9, 60.5, 40.0, 35.1}},
      Row{"3B", "Transformer", {99.5, 98.5, 96.9, 91.2}},
      Row{"3B", "GLA + window", {99.3, 53.0, 27.7, 13.3}},
      Row{"3B", "DeltaNet + window", {96.9, 74.5, 48.6, 28.4}},
      Row{"3B", "LaCT, momentum", {97.1, 78.5, 55.3, 40.6}},
      Row{"3B", "LaCT, Muon", {98.1, 96.3, 79.1, 48.0}},
  };
  return sentences(rows);
}

std::vector<std::string> paper_several_needles() {
  static constexpr std::array rows = {
      Row{"760M", "Transformer", {41.7, 41.6, 38.6, 34.8}},
      Row{"760M", "DeltaNet + window", {35.5, 25.1, 10.4, 6.4}},
      Row{"760M", "GLA + window", {32.3, 21.0, 12.0, 6.3}},
      Row{"760M", "LaCT", {38.8, 26.8, 14.5, 7.1}},
      Row{"760M", "LaCT, momentum", {41.7, 29.7, 18.5, 9.1}},
      Row{"760M", "LaCT, Muon", {42.9, 32.1, 17.1, 7.5}},
      Row{"3B", "Transformer", {81.1, 71.6, 61.4, 43.0}},
      Row{"3B", "GLA + window", {52.5, 31.8, 21.4, 11.7}},
      Row{"3B", "DeltaNet + window", {61.9, 37.9, 24.8, 14.8}},
      Row{"3B", "LaCT, momentum", {90.4, 43.5, 27.5, 14.2}},
      Row{"3B", "LaCT, Muon", {48.8, 45.8, 32.0, 21.2}},
  };
  return sentences(rows);
}

}  // namespace lact::reproduce::ruler
