// Line charts of results, as an SVG picture for a page and as plain characters for a terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lact::eval {

/// One line. A point that is not finite breaks it, and so does x <= 0 on a logarithmic axis.
struct Series {
  std::string name;
  std::vector<double> x, y;
  bool dashed = false;
  /// A light area around the line, such as the spread of several runs: none, or a value for each point.
  std::vector<double> low = {}, high = {};
};

struct Plot {
  std::string title, x_label, y_label;
  std::vector<Series> series = {};
  bool log_x = false;                            // powers of two if every x is one, else powers of ten
  std::optional<double> y_min = {}, y_max = {};  // ends of the y axis; from the data where absent
};

/// A standalone picture 720 units wide with colours and markers that colour-blind readers can tell apart.
/// Long series are drawn without markers. Written atomically.
void write_svg(const std::string& path, const Plot& plot);

/// The picture itself.
std::string svg(const Plot& plot);

/// The chart `width` columns wide, its drawing area `height` rows high (at least 40 and 5), one letter per
/// series, followed by a legend. Every line ends in a newline.
std::string terminal_chart(const Plot& plot, int width, int height);

}  // namespace lact::eval
