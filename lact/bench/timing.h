// Several ways to do the same thing, timed side by side: they take turns, so that a disturbance of the
// machine meets all of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lact::bench {

struct Contender {
  std::string name;
  /// Runs once and returns its seconds; NaN drops out of the race.
  std::function<double()> run;
  /// Of contenders of one group, such as two PyTorch forms of an operation, only the fastest goes on. Empty:
  /// alone.
  std::string group;
};

struct Times {
  std::optional<double> best, median;  ///< absent if it dropped out at once
  int runs = 0;
};

struct RaceOptions {
  int repeats = 5;
  double budget = 60;  ///< a contender that has taken so many seconds does not run again
};

/// Rounds of one run each, in the same order. The first one warms up and does not count if there is a second.
std::vector<Times> race(const std::vector<Contender>& contenders, const RaceOptions& options);

/// The best of a group's, or of all.
std::optional<double> best_of(const std::vector<Contender>& contenders, const std::vector<Times>& times,
                              const std::string& group);

double seconds_of(const std::function<void()>& action);

}  // namespace lact::bench
