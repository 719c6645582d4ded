// What both drawings of a plot share: the axes with their ticks, and the lines in units of the axes.
#pragma once

#include <string>
#include <vector>

#include "lact/eval/plot.h"

namespace lact::eval {

struct Tick {
  double value;
  std::string label;
};

struct Axis {
  double low = 0, high = 1;
  bool logarithmic = false;
  std::vector<Tick> ticks;  // ascending, within [low, high]

  /// 0 at `low`, 1 at `high`; outside of them for values beyond the ends.
  double fraction(double value) const;
};

/// A point in fractions of the axes, and the index that it has in its series.
struct PlotPoint {
  double x, y;
  size_t index;
};

/// A part of an area: x and its lower and upper end, in fractions of the axes.
struct BandPoint {
  double x, low, high;
};

/// Throws lact::Error when a series has more x than y or the y range is upside down.
void check_plot(const Plot& plot);

Axis x_axis(const Plot& plot, int max_ticks);
Axis y_axis(const Plot& plot, int max_ticks);

/// The unbroken stretches of a series.
std::vector<std::vector<PlotPoint>> stretches(const Series& series, const Axis& x, const Axis& y);

/// The unbroken stretches of its area; none without `low` and `high`.
std::vector<std::vector<BandPoint>> band_stretches(const Series& series, const Axis& x, const Axis& y);

}  // namespace lact::eval
