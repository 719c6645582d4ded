#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lact/eval/plot.h"
#include "lact/eval/plot_axis.h"

namespace lact::eval {

namespace {

constexpr int kLeastWidth = 40, kLeastHeight = 5;

char letter_of(size_t series) { return static_cast<char>((series < 26 ? 'a' : 'A') + series % 26); }

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

/// The drawing area: rows from the top, one character per cell.
class Canvas {
 public:
  Canvas(int width, int height) : width_(width), rows_(height, std::string(width, ' ')) {}

  /// Joins the points by dots, then marks each by the letter. Later calls draw over earlier ones.
  void draw(const std::vector<PlotPoint>& points, char letter) {
    for (size_t i = 1; i < points.size(); ++i) join(points[i - 1], points[i]);
    for (const auto& point : points) set(column(point.x), point.y, letter);
  }

  int column(double fraction) const { return static_cast<int>(std::lround(fraction * (width_ - 1))); }
  int row(double fraction) const {
    return static_cast<int>(std::lround((1 - fraction) * static_cast<double>(rows_.size() - 1)));
  }
  const std::string& line(int row) const { return rows_[row]; }

 private:
  void set(int column, double y, char character) {
    if (y < -1e-9 || y > 1 + 1e-9) return;
    rows_[row(y)][column] = character;
  }

  void join(const PlotPoint& a, const PlotPoint& b) {
    const int from = column(a.x), to = column(b.x);
    const int direction = to < from ? -1 : 1;
    for (int at = from + direction; (to - at) * direction > 0; at += direction) {
      const double share = static_cast<double>(at - from) / (to - from);
      set(at, a.y + share * (b.y - a.y), '.');
    }
  }

  int width_;
  std::vector<std::string> rows_;
};

/// The axis line with a mark at each labelled tick, and the labels below it.
std::string bottom_lines(const Axis& axis, const Canvas& canvas, int gutter, int width) {
  std::string marks = std::string(gutter - 2, ' ') + '+' + std::string(width - gutter + 1, '-');
  std::string labels(width, ' ');
  int free = 0;
  for (const auto& tick : axis.ticks) {
    const int at = gutter + canvas.column(axis.fraction(tick.value));
    const int length = static_cast<int>(tick.label.size());
    const int begin = std::clamp(at - length / 2, 0, std::max(0, width - length));
    if (begin < free) continue;
    labels.replace(begin, length, tick.label);
    marks[at] = '+';
    free = begin + length + 2;
  }
  return marks + "\n" + without_trailing_spaces(labels) + "\n";
}

}  // namespace

std::string terminal_chart(const Plot& plot, int width, int height) {
  check_plot(plot);
  width = std::max(width, kLeastWidth);
  height = std::max(height, kLeastHeight);
  const Axis vertical = y_axis(plot, std::max(3, height / 2));
  int label_width = 0;
  for (const auto& tick : vertical.ticks)
    label_width = std::max(label_width, static_cast<int>(tick.label.size()));
  const int gutter = label_width + 3;  // "label | "
  Canvas canvas(width - gutter, height);
  const Axis horizontal = x_axis(plot, std::max(3, (width - gutter) / 9));
  for (size_t i = plot.series.size(); i-- > 0;) {
    for (const auto& points : stretches(plot.series[i], horizontal, vertical))
      canvas.draw(points, letter_of(i));
  }

  std::vector<std::string> labels(height);
  for (const auto& tick : vertical.ticks) labels[canvas.row(vertical.fraction(tick.value))] = tick.label;
  std::string text;
  if (!plot.title.empty()) text += plot.title + "\n";
  if (!plot.y_label.empty()) text += plot.y_label + "\n";
  for (int row = 0; row < height; ++row) {
    text += without_trailing_spaces(fmt::format("{:>{}} | {}", labels[row], label_width, canvas.line(row))) +
            "\n";
  }
  text += bottom_lines(horizontal, canvas, gutter, width);
  if (!plot.x_label.empty()) text += fmt::format("{}{}\n", std::string(gutter, ' '), plot.x_label);
  for (size_t i = 0; i < plot.series.size(); ++i) {
    if (!plot.series[i].name.empty()) text += fmt::format("  {} {}\n", letter_of(i), plot.series[i].name);
  }
  return text;
}

}  // namespace lact::eval
