// Rules that decide whether a statement holds. Each gives a finding with the rule in words and the numbers.
#pragma once

#include <string>
#include <vector>

#include "lact/reproduce/section.h"

namespace lact::reproduce {

/// One number per seed.
struct Sample {
  std::string name;
  std::vector<double> values;

  double mean() const;
  double deviation() const;       ///< standard deviation of the seeds, n - 1 below the root; 0 for one
  double standard_error() const;  ///< of the mean
  std::string text() const;       ///< "1.234 ± 0.012 (3 seeds)"
};

enum class Direction { lower, higher };

/// `better` beats `worse` if the means differ in that direction by more than twice the standard error of the
/// difference; does not hold if they do in the other direction; else, or with fewer than 3 seeds,
/// inconclusive.
Finding beats(const std::string& statement, const Sample& better, const Sample& worse, Direction direction);

/// `one` is as good as `other`: holds unless it is worse by more than `share` of the other's mean and by more
/// than twice the standard error; inconclusive below 3 seeds.
Finding comparable(const std::string& statement, const Sample& one, const Sample& other, Direction direction,
                   double share);

/// The values get better from the first sample to the last: the ends by the rule of beats(), and the order of
/// the means has a rank correlation of at least 0.8 with that of the samples.
Finding improves(const std::string& statement, const std::vector<Sample>& samples, Direction direction);

/// A measured number, such as a speed, is at least `least` (or at most, for lower). Timings are bests of
/// several runs, so that one number decides; within 5 % of the limit it is inconclusive.
Finding reaches(const std::string& statement, const std::string& what, double value, double limit,
                Direction direction);

}  // namespace lact::reproduce
