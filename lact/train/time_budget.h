// The time that a run may take, over all of its parts: interruptions do not count.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <utility>

namespace lact::train {

class TimeBudget {
 public:
  using Clock = std::function<double()>;

  /// Validations and checkpoints of a run, evenly over its time.
  static constexpr double kChecks = 20;

  /// `seconds` 0: no limit. `clock` never goes back; the system's where absent.
  TimeBudget(double seconds, Clock clock) : seconds_(seconds), clock_(std::move(clock)) {
    if (!clock_)
      clock_ = [] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
      };
    start();
  }

  bool limited() const { return seconds_ > 0; }

  /// What parts of the run before this one have used.
  void add_earlier(double seconds) { earlier_ += seconds; }
  void start() { start_ = clock_(); }

  double used() const { return earlier_ + clock_() - start_; }
  /// 0 to 1; 0 where there is no limit.
  double share() const { return limited() ? std::clamp(used() / seconds_, 0.0, 1.0) : 0; }

  /// Whether a check is due when this share is used and `before` was at the step before.
  static bool passes_check(double before, double share) {
    return std::floor(share * kChecks) > std::floor(before * kChecks);
  }

 private:
  double seconds_;
  Clock clock_;
  double earlier_ = 0, start_ = 0;
};

}  // namespace lact::train
