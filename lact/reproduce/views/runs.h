// The commands that tune, train and measure contenders, and what they said.
#pragma once

#include <string>
#include <vector>

#include "lact/reproduce/results.h"
#include "lact/reproduce/section.h"
#include "lact/reproduce/verdict.h"
#include "lact/reproduce/views/contenders.h"

namespace lact::reproduce::views {

/// Everything that one experiment compares, and how.
struct Comparison {
  Setting setting;
  std::vector<Contender> contenders;
  std::string name;             ///< in the ids of its tests
  std::vector<int64_t> counts;  ///< of views that are read in its tests
};

std::string training_id(const Contender& contender, int64_t seed);
std::string info_id(const Contender& contender);
std::string test_id(const Comparison& comparison, int64_t seed);

/// For each contender: its parameters, a short training at every rate of the grid, and then one of every seed
/// at the best of them. For each seed a test of all contenders on the same unseen scenes.
std::vector<Step> steps_of(const Comparison& comparison);

/// The rate of the grid whose short training ended with the highest PSNR on validation scenes.
std::string best_rate(const Setting& setting, const Contender& contender, const Results& results);

/// PSNR of one contender in the tests of all seeds, after reading so many views. Scenes are all of them, or
/// those of one group such as a capture.
Sample test_psnr(const Comparison& comparison, const Contender& contender, int64_t count,
                 const Results& results);

/// PSNR against the number of views that were read.
Chart psnr_chart(const Comparison& comparison, const std::string& title, const Results& results);

/// Means, and the standard deviation of the seeds below and above.
void add_point(Line& line, double x, const Sample& sample);

/// What every contender has, from what the commands said: parameters, state, tokens, tokens/s, PSNR.
Table contender_table(const Comparison& comparison, int64_t count, const Results& results);
/// The grid, the PSNR of the short trainings and the rate that was taken.
Table rate_table(const Comparison& comparison, const Results& results);

/// How all of them were trained and measured.
std::vector<std::string> common_notes(const Comparison& comparison, const Results& results);

}  // namespace lact::reproduce::views
