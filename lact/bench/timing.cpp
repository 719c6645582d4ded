#include "lact/bench/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace lact::bench {

namespace {

/// Threads of the last contender may spin for a while before they sleep.
constexpr auto kPause = std::chrono::milliseconds(10);
/// A form of a group that is so much slower than the fastest stops.
constexpr double kHopeless = 1.15;

struct Runner {
  std::vector<double> seconds;
  double total = 0;
  bool out = false;
};

Times summary(std::vector<double> seconds) {
  if (seconds.empty()) return {};
  if (seconds.size() > 1) seconds.erase(seconds.begin());
  std::sort(seconds.begin(), seconds.end());
  return {seconds.front(), seconds[seconds.size() / 2], int(seconds.size())};
}

}  // namespace

double seconds_of(const std::function<void()>& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<Times> race(const std::vector<Contender>& contenders, const RaceOptions& options) {
  std::vector<Runner> runners(contenders.size());
  const auto drop_slow_forms = [&] {
    for (size_t i = 0; i < runners.size(); ++i) {
      for (size_t j = 0; j < runners.size(); ++j) {
        const bool rivals = !contenders[i].group.empty() && contenders[i].group == contenders[j].group;
        if (!rivals || runners[i].seconds.empty() || runners[j].seconds.empty()) continue;
        if (runners[i].seconds.back() > kHopeless * runners[j].seconds.back()) runners[i].out = true;
      }
    }
  };
  for (int round = 0; round < options.repeats + 1; ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      Runner& runner = runners[i];
      if (runner.out || runner.total > options.budget) continue;
      std::this_thread::sleep_for(kPause);
      const double seconds = contenders[i].run();
      if (!std::isfinite(seconds)) {
        runner.out = true;
        continue;
      }
      runner.seconds.push_back(seconds);
      runner.total += seconds;
    }
    if (round == 1) drop_slow_forms();
  }
  std::vector<Times> times;
  for (auto& runner : runners) times.push_back(summary(std::move(runner.seconds)));
  return times;
}

std::optional<double> best_of(const std::vector<Contender>& contenders, const std::vector<Times>& times,
                              const std::string& group) {
  std::optional<double> best;
  for (size_t i = 0; i < times.size(); ++i) {
    if (contenders[i].group != group || !times[i].best) continue;
    best = best ? std::min(*best, *times[i].best) : *times[i].best;
  }
  return best;
}

}  // namespace lact::bench
