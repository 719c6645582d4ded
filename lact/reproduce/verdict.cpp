#include "lact/reproduce/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace lact::reproduce {

namespace {

constexpr size_t kLeastSeeds = 3;
constexpr double kLeastRankCorrelation = 0.8, kTimingShare = 0.05;
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

/// By how much `one` is better than `other`; negative where it is worse.
double advantage(double one, double other, Direction direction) {
  return direction == Direction::lower ? other - one : one - other;
}

const char* better_word(Direction direction) { return direction == Direction::lower ? "lower" : "higher"; }
const char* worse_word(Direction direction) { return direction == Direction::lower ? "higher" : "lower"; }

/// Two samples side by side: the difference of their means against what chance makes of it.
struct Comparison {
  double advantage, twice_error;
  bool decidable;       ///< numbers, and enough of them
  std::string numbers;  ///< in words

  bool better() const { return decidable && advantage > twice_error; }
  bool worse() const { return decidable && -advantage > twice_error; }
};

Comparison compare_means(const Sample& one, const Sample& other, Direction direction) {
  Comparison result;
  result.advantage = advantage(one.mean(), other.mean(), direction);
  result.twice_error = 2 * std::hypot(one.standard_error(), other.standard_error());
  result.numbers = fmt::format("{}: {}; {}: {}", one.name, one.text(), other.name, other.text());
  const bool numbers = std::isfinite(result.advantage) && std::isfinite(result.twice_error);
  const bool seeds = std::min(one.values.size(), other.values.size()) >= kLeastSeeds;
  result.decidable = numbers && seeds;
  if (numbers) {
    const double difference = one.mean() - other.mean();
    result.numbers +=
        fmt::format("; difference {:+.3g}, twice its standard error {:.2g}", difference, result.twice_error);
  } else {
    result.numbers += "; not every value is a finite number";
  }
  if (!seeds) result.numbers += fmt::format("; fewer than {} seeds", kLeastSeeds);
  return result;
}

/// Ranks from 1; equal values share the mean of theirs.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto below = std::count_if(values.begin(), values.end(), [&](double v) { return v < values[i]; });
    const auto equal = std::count(values.begin(), values.end(), values[i]);
    ranks[i] = double(below) + (double(equal) + 1) / 2;
  }
  return ranks;
}

/// Spearman's: of the ranks of `values` with their places; NaN where all are equal.
double rank_correlation(const std::vector<double>& values) {
  const std::vector<double> ranks = ranks_of(values);
  const double middle = (double(values.size()) + 1) / 2;
  double product = 0, of_ranks = 0, of_places = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const double rank = ranks[i] - middle, place = double(i) + 1 - middle;
    product += rank * place;
    of_ranks += rank * rank;
    of_places += place * place;
  }
  return of_ranks > 0 ? product / std::sqrt(of_ranks * of_places) : kNoNumber;
}

}  // namespace

double Sample::mean() const {
  if (values.empty()) return kNoNumber;
  return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

double Sample::deviation() const {
  if (values.empty()) return kNoNumber;
  if (values.size() == 1) return 0;
  const double middle = mean();
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / double(values.size() - 1));
}

double Sample::standard_error() const { return deviation() / std::sqrt(double(values.size())); }

std::string Sample::text() const {
  if (values.empty()) return "no values";
  const std::string seeds = fmt::format("({} seed{})", values.size(), values.size() == 1 ? "" : "s");
  const double middle = mean(), spread = deviation();
  if (!std::isfinite(middle) || !std::isfinite(spread)) return "not a number " + seeds;
  if (values.size() == 1) return fmt::format("{:.4g} {}", middle, seeds);
  // Two digits of the spread tell how many of the mean mean anything.
  const int decimals = spread > 0 ? 1 - int(std::floor(std::log10(spread))) : 99;
  if (decimals > 6) return fmt::format("{:.4g} ± {:.2g} {}", middle, spread, seeds);
  return fmt::format("{0:.{2}f} ± {1:.{2}f} {3}", middle, spread, std::max(decimals, 0), seeds);
}

Finding beats(const std::string& statement, const Sample& better, const Sample& worse, Direction direction) {
  const Comparison ends = compare_means(better, worse, direction);
  Finding finding = {.statement = statement, .rule = {}, .because = ends.numbers};
  finding.rule = fmt::format(
      "holds if the mean of {} is {} than that of {} by more than twice the standard error of the "
      "difference, "
      "with at least {} seeds each; does not hold if it is {} by as much; else inconclusive",
      better.name, better_word(direction), worse.name, kLeastSeeds, worse_word(direction));
  if (ends.better()) finding.verdict = Verdict::holds;
  if (ends.worse()) finding.verdict = Verdict::does_not_hold;
  return finding;
}

Finding comparable(const std::string& statement, const Sample& one, const Sample& other, Direction direction,
                   double share) {
  const Comparison both = compare_means(one, other, direction);
  Finding finding = {.statement = statement, .rule = {}, .because = both.numbers};
  finding.rule = fmt::format(
      "does not hold if the mean of {} is {} than that of {} by more than {:g} % and by more than twice the "
      "standard error of the difference; else holds; inconclusive below {} seeds",
      one.name, worse_word(direction), other.name, 100 * share, kLeastSeeds);
  if (!both.decidable) return finding;
  const bool far = -both.advantage > share * std::abs(other.mean());
  finding.verdict = far && both.worse() ? Verdict::does_not_hold : Verdict::holds;
  return finding;
}

Finding improves(const std::string& statement, const std::vector<Sample>& samples, Direction direction) {
  Finding finding = {.statement = statement, .rule = {}, .because = {}};
  finding.rule = fmt::format(
      "holds if the mean of the last is {} than that of the first by more than twice the standard error of "
      "the "
      "difference, with at least {} seeds each, and the order of the means has a rank correlation of at "
      "least "
      "{:g} with the expected one; does not hold if the last is {} than the first by as much; else "
      "inconclusive",
      better_word(direction), kLeastSeeds, kLeastRankCorrelation, worse_word(direction));
  if (samples.size() < 2) {
    finding.because = fmt::format("{} values, expected at least 2", samples.size());
    return finding;
  }
  const Comparison ends = compare_means(samples.back(), samples.front(), direction);
  std::vector<double> gains;
  std::vector<std::string> means;
  for (const Sample& sample : samples) {
    gains.push_back(direction == Direction::lower ? -sample.mean() : sample.mean());
    means.push_back(fmt::format("{} {:.4g}", sample.name, sample.mean()));
  }
  const bool numbers =
      std::all_of(gains.begin(), gains.end(), [](double gain) { return std::isfinite(gain); });
  const double order = numbers ? rank_correlation(gains) : kNoNumber;
  finding.because = ends.numbers;
  if (samples.size() > 2) finding.because += fmt::format("; means: {}", fmt::join(means, ", "));
  finding.because += std::isfinite(order) ? fmt::format("; rank correlation {:.2f}", order)
                                          : std::string("; no rank correlation");
  if (ends.better() && order >= kLeastRankCorrelation - 1e-9) finding.verdict = Verdict::holds;
  if (ends.worse()) finding.verdict = Verdict::does_not_hold;
  return finding;
}

Finding reaches(const std::string& statement, const std::string& what, double value, double limit,
                Direction direction) {
  Finding finding = {.statement = statement, .rule = {}, .because = {}};
  finding.rule = fmt::format(
      "holds if {} is at {} {:.4g}, does not hold otherwise; within {:g} % of that it is inconclusive", what,
      direction == Direction::lower ? "most" : "least", limit, 100 * kTimingShare);
  if (!std::isfinite(value) || !std::isfinite(limit)) {
    finding.because = fmt::format("{}: not a number", what);
    return finding;
  }
  finding.because = fmt::format("{}: {:.4g}", what, value);
  const double gain = advantage(value, limit, direction);
  if (std::abs(gain) > kTimingShare * std::abs(limit))
    finding.verdict = gain > 0 ? Verdict::holds : Verdict::does_not_hold;
  return finding;
}

}  // namespace lact::reproduce
