#include "lact/eval/plot_axis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lact/base/error.h"

namespace lact::eval {

namespace {

constexpr double kLargest = 1e300;    // differences of two values stay finite
constexpr double kSmallest = 1e-300;  // on a logarithmic axis

bool drawable(double value) { return std::abs(value) <= kLargest; }  // false for NaN

bool drawable_x(double value, bool logarithmic) {
  return drawable(value) && (!logarithmic || value >= kSmallest);
}

struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

template <class Use>
void each_point(const Plot& plot, Use use) {
  for (const auto& series : plot.series) {
    for (size_t i = 0; i < series.x.size(); ++i) {
      if (drawable_x(series.x[i], plot.log_x) && drawable(series.y[i])) use(series.x[i], series.y[i]);
    }
  }
}

bool has_band(const Series& series, size_t i, bool logarithmic) {
  return drawable_x(series.x[i], logarithmic) && drawable(series.low[i]) && drawable(series.high[i]);
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `least`.
double nice_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

/// The label of a tick on an axis whose ticks are `step` apart and reach up to `largest` in size: 20000 ->
/// "20k", 1500000 -> "1.5M", 0.25 at step 0.05 -> "0.25".
std::string label_of(double value, double step, double largest) {
  if (std::abs(value) < step * 1e-6) return "0";
  if (step < 1e-5 || largest >= 1e12) return fmt::format("{:.4g}", value);
  const auto scaled = [&](double unit, const char* suffix) {
    return fmt::format("{:.9g}{}", value / unit, suffix);
  };
  if (largest >= 1e9 && step >= 1e6) return scaled(1e9, "G");
  if (largest >= 1e6 && step >= 1e3) return scaled(1e6, "M");
  if (largest >= 1e4 && step >= 1e2) return scaled(1e3, "k");
  const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
  return fmt::format("{:.{}f}", value, decimals);
}

std::vector<Tick> linear_ticks(double low, double high, double step) {
  constexpr int kMost = 1000;  // a step lost in rounding must not loop for ever
  const double largest = std::max(std::abs(low), std::abs(high));
  const double first = std::ceil(low / step - 1e-9);
  std::vector<Tick> ticks;
  for (int i = 0; i <= kMost; ++i) {
    const double value = (first + i) * step;
    if (value > high + step * 1e-9) break;
    ticks.push_back({value, label_of(value, step, largest)});
  }
  return ticks;
}

double step_for(double low, double high, int max_ticks) {
  return nice_step((high - low) / std::max(1, max_ticks - 1));
}

/// Too close to each other to make an axis.
bool flat(double low, double high) {
  return high - low <= std::max(1e-12 * std::max(std::abs(low), std::abs(high)), 1e-290);
}

/// How far an axis reaches beyond a flat line: a share of its value, or 1 at zero.
double margin_of(double low, double high, double share) {
  const double size = std::max(std::abs(low), std::abs(high));
  return size > 1e-280 ? size * share : 1;
}

/// Every `stride`-th power of `base` in the range, with each of `factors`.
std::vector<double> power_ticks(double low, double high, double base, int stride,
                                const std::vector<double>& factors) {
  std::vector<double> values;
  const double slack = 1e-9;
  const int last = static_cast<int>(std::floor(std::log2(high) / std::log2(base) + slack));
  const int first = static_cast<int>(std::floor(std::log2(low) / std::log2(base) - slack));
  for (int exponent = first; exponent <= last; ++exponent) {
    if (exponent % stride != 0) continue;
    for (const double factor : factors) {
      const double value = factor * std::pow(base, exponent);
      if (value >= low * (1 - slack) && value <= high * (1 + slack)) values.push_back(value);
    }
  }
  return values;
}

std::string power_label(double value, double base) {
  if (base == 10) return label_of(value, value, value);
  if (value >= 1 && value < 1e7) return fmt::format("{:.0f}", value);
  return value < 1 && value >= 1.0 / 64 ? fmt::format("1/{:.0f}", 1 / value)
                                        : fmt::format("2^{:.0f}", std::log2(value));
}

std::vector<Tick> log_ticks(double low, double high, double base, int max_ticks) {
  const auto too_many = [&](const std::vector<double>& values) {
    return values.size() > static_cast<size_t>(max_ticks);
  };
  std::vector<double> values =
      power_ticks(low, high, base, 1, base == 10 ? std::vector<double>{1, 2, 5} : std::vector<double>{1});
  for (int stride = 1; too_many(values); ++stride) values = power_ticks(low, high, base, stride, {1});
  if (values.size() < 2) return linear_ticks(low, high, step_for(low, high, max_ticks));
  std::vector<Tick> ticks;
  for (const double value : values) ticks.push_back({value, power_label(value, base)});
  return ticks;
}

/// The points i < count that are drawn, as `make(i)`, with a new stretch behind each that is not.
template <class Point, class Drawn, class Make>
std::vector<std::vector<Point>> unbroken(size_t count, Drawn drawn, Make make) {
  std::vector<std::vector<Point>> result;
  bool open = false;
  for (size_t i = 0; i < count; ++i) {
    const bool here = drawn(i);
    if (here && !open) result.emplace_back();
    if (here) result.back().push_back(make(i));
    open = here;
  }
  return result;
}

bool is_power_of_two(double value) {
  int exponent = 0;
  return value > 0 && std::frexp(value, &exponent) == 0.5;
}

}  // namespace

double Axis::fraction(double value) const {
  if (logarithmic) return (std::log2(value) - std::log2(low)) / (std::log2(high) - std::log2(low));
  return (value - low) / (high - low);
}

void check_plot(const Plot& plot) {
  for (const auto& series : plot.series) {
    LACT_CHECK(series.x.size() == series.y.size(), "[plot] series \"{}\" has {} x values but {} y values",
               series.name, series.x.size(), series.y.size());
    for (const auto& [name, values] : {std::pair{"low", &series.low}, std::pair{"high", &series.high}}) {
      LACT_CHECK(
          values->size() == series.low.size() && (values->empty() || values->size() == series.y.size()),
          "[plot] series \"{}\" has {} {} values but {} y values", series.name, values->size(), name,
          series.y.size());
    }
  }
  for (const auto& end : {plot.y_min, plot.y_max}) {
    LACT_CHECK(!end || drawable(*end), "[plot] the y range ends at {}, expected a finite number", *end);
  }
  if (plot.y_min && plot.y_max) {
    LACT_CHECK(*plot.y_min < *plot.y_max, "[plot] the y range is {} to {}, expected the smaller number first",
               *plot.y_min, *plot.y_max);
  }
}

Axis x_axis(const Plot& plot, int max_ticks) {
  Extent extent;
  bool powers_of_two = true, whole = true;
  each_point(plot, [&](double x, double) {
    extent.include(x);
    powers_of_two = powers_of_two && is_power_of_two(x);
    whole = whole && x == std::floor(x);
  });
  if (extent.empty()) extent = plot.log_x ? Extent{1, 10} : Extent{0, 1};
  auto [low, high] = extent;
  if (plot.log_x && high <= low * (1 + 1e-12)) {
    low /= 2;
    high *= 2;
  } else if (!plot.log_x && flat(low, high)) {
    const double margin = margin_of(low, high, 0.5);
    low -= margin;
    high += margin;
  }
  if (plot.log_x) return {low, high, true, log_ticks(low, high, powers_of_two ? 2 : 10, max_ticks)};
  const double step = step_for(low, high, max_ticks);
  return {low, high, false, linear_ticks(low, high, whole ? std::max(step, 1.0) : step)};
}

Axis y_axis(const Plot& plot, int max_ticks) {
  Extent extent;
  each_point(plot, [&](double, double y) { extent.include(y); });
  for (const auto& series : plot.series) {
    for (size_t i = 0; i < series.low.size(); ++i) {
      if (!has_band(series, i, plot.log_x)) continue;
      extent.include(series.low[i]);
      extent.include(series.high[i]);
    }
  }
  if (extent.empty()) extent = {0, 1};
  double low = plot.y_min.value_or(extent.low), high = plot.y_max.value_or(extent.high);
  // A flat line, or a given end beyond all of the data, still needs some height.
  if (flat(low, high)) {
    const double margin = margin_of(low, high, 0.1);
    if (plot.y_min) {
      high = low + margin;
    } else if (plot.y_max) {
      low = high - margin;
    } else {
      low -= margin, high += margin;
    }
  }
  // Ends that come from the data move outwards to the next tick.
  const double step = step_for(low, high, max_ticks);
  if (!plot.y_min) low = std::floor(low / step + 1e-9) * step;
  if (!plot.y_max) high = std::ceil(high / step - 1e-9) * step;
  return {low, high, false, linear_ticks(low, high, step)};
}

std::vector<std::vector<PlotPoint>> stretches(const Series& series, const Axis& x, const Axis& y) {
  return unbroken<PlotPoint>(
      series.x.size(),
      [&](size_t i) { return drawable_x(series.x[i], x.logarithmic) && drawable(series.y[i]); },
      [&](size_t i) {
        return PlotPoint{x.fraction(series.x[i]), y.fraction(series.y[i]), i};
      });
}

std::vector<std::vector<BandPoint>> band_stretches(const Series& series, const Axis& x, const Axis& y) {
  return unbroken<BandPoint>(
      series.low.size(), [&](size_t i) { return has_band(series, i, x.logarithmic); },
      [&](size_t i) {
        return BandPoint{x.fraction(series.x[i]), y.fraction(series.low[i]), y.fraction(series.high[i])};
      });
}

}  // namespace lact::eval
