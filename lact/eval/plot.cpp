#include "lact/eval/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "lact/eval/markup.h"
#include "lact/eval/plot_axis.h"
#include "lact/io/atomic_file.h"

namespace lact::eval {

namespace {

// Okabe and Ito's palette without its yellow, which is too pale for a line on white.
constexpr std::array<const char*, 7> kColours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                 "#E69F00", "#56B4E9", "#333333"};
// Paths around the point: circle, square, triangle, diamond, triangle on its tip, plus.
constexpr std::array<const char*, 6> kMarkers = {"M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0z",
                                                 "M-3.8-3.8h7.6v7.6h-7.6z",
                                                 "M0-5L4.8 3.6h-9.6z",
                                                 "M0-5.4L5.4 0L0 5.4L-5.4 0z",
                                                 "M0 5L4.8-3.6h-9.6z",
                                                 "M-2-5h4v3h3v4h-3v3h-4v-3h-3v-4h3z"};
constexpr size_t kMostMarkers = 60;  // a longer series is a curve, its points would hide it

constexpr double kWidth = 720, kAreaHeight = 300, kRight = 20, kRow = 20;
constexpr double kInset = 12;         // room inside the area, so that the outermost markers are whole
constexpr double kCharacter = 7;      // about the width of a character at 12 px
constexpr double kLegendSample = 34;  // line sample and gap before a name

using Out = std::back_insert_iterator<std::string>;

size_t count_characters(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// Where things are, in pixels; y grows downwards.
struct Frame {
  double left, top;
  double width() const { return kWidth - kRight - left; }
  double right() const { return kWidth - kRight; }
  double bottom() const { return top + kAreaHeight; }
  // Points far outside of a given y range keep a coordinate that every viewer can handle.
  double x(double fraction) const { return left + kInset + fraction * (width() - 2 * kInset); }
  double y(double fraction) const { return bottom() - std::clamp(fraction, -1000.0, 1000.0) * kAreaHeight; }
};

void draw_marker(Out out, size_t series, double x, double y, const std::string& tip) {
  fmt::format_to(out,
                 "<path transform=\"translate({:.1f} {:.1f})\" d=\"{}\" fill=\"{}\" stroke=\"#fff\">"
                 "<title>{}</title></path>\n",
                 x, y, kMarkers[series % kMarkers.size()], kColours[series % kColours.size()], tip);
}

std::string stroke_of(const Plot& plot, size_t series) {
  return fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-linejoin=\"round\"{}",
                     kColours[series % kColours.size()],
                     plot.series[series].dashed ? " stroke-dasharray=\"6 4\"" : " stroke-linecap=\"round\"");
}

bool has_markers(const Series& series) { return series.x.size() <= kMostMarkers; }

bool has_legend(const Plot& plot) {
  return std::any_of(plot.series.begin(), plot.series.end(), [](const Series& s) { return !s.name.empty(); });
}

/// Names in rows below the title, from `left`; returns the y below the last row.
double draw_legend(Out out, const Plot& plot, double left, double top) {
  if (!has_legend(plot)) return top;
  double x = left, y = top + kRow / 2;
  for (size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    const double width = kLegendSample + kCharacter * static_cast<double>(count_characters(series.name)) + 22;
    if (x > left && x + width > kWidth) x = left, y += kRow;
    fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}h26\" {}/>\n", x, y, stroke_of(plot, i));
    if (has_markers(series)) draw_marker(out, i, x + 13, y, escaped_markup(series.name));
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + kLegendSample, y + 4,
                   escaped_markup(series.name));
    x += width;
  }
  return y + kRow / 2;
}

void draw_axes(Out out, const Plot& plot, const Frame& frame, const Axis& x_axis, const Axis& y_axis) {
  const auto line = [&](double x1, double y1, double x2, double y2, const char* colour) {
    fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2, y2, colour);
  };
  const auto text = [&](double x, double y, const char* anchor, const std::string& label) {
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                   escaped_markup(label));
  };
  for (const auto& tick : y_axis.ticks) {
    const double y = frame.y(y_axis.fraction(tick.value));
    line(frame.left, y, frame.right(), y, "#e4e4e4");
    text(frame.left - 8, y + 4, "end", tick.label);
  }
  for (const auto& tick : x_axis.ticks) {
    const double x = frame.x(x_axis.fraction(tick.value));
    line(x, frame.top, x, frame.bottom(), "#f0f0f0");
    line(x, frame.bottom(), x, frame.bottom() + 5, "#666");
    text(x, frame.bottom() + 19, "middle", tick.label);
  }
  line(frame.left, frame.top, frame.left, frame.bottom(), "#666");
  line(frame.left, frame.bottom(), frame.right(), frame.bottom(), "#666");
  text(frame.left + frame.width() / 2, frame.bottom() + 41, "middle", plot.x_label);
  fmt::format_to(out,
                 "<text transform=\"translate(18 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                 frame.top + kAreaHeight / 2, escaped_markup(plot.y_label));
}

/// The area between `low` and `high`: along the upper ends, and back along the lower ones.
void draw_band(Out out, const Plot& plot, size_t index, const Frame& frame, const Axis& x_axis,
               const Axis& y_axis) {
  for (const auto& points : band_stretches(plot.series[index], x_axis, y_axis)) {
    fmt::format_to(out, "<path d=\"M");
    for (const auto& point : points)
      fmt::format_to(out, "{:.1f} {:.1f} ", frame.x(point.x), frame.y(point.high));
    for (size_t i = points.size(); i-- > 0;)
      fmt::format_to(out, "{:.1f} {:.1f} ", frame.x(points[i].x), frame.y(points[i].low));
    fmt::format_to(out, "z\" fill=\"{}\" fill-opacity=\"0.16\"/>\n", kColours[index % kColours.size()]);
  }
}

void draw_series(Out out, const Plot& plot, size_t index, const Frame& frame, const Axis& x_axis,
                 const Axis& y_axis) {
  const Series& series = plot.series[index];
  const auto lines = stretches(series, x_axis, y_axis);
  // The inner picture cuts off what leaves a given y range; 3 px keep a line along the edge whole.
  fmt::format_to(out,
                 "<svg x=\"0\" y=\"{0:.1f}\" width=\"{1}\" height=\"{2}\" viewBox=\"0 {0:.1f} {1} {2}\">\n",
                 frame.top - 3, kWidth, kAreaHeight + 6);
  draw_band(out, plot, index, frame, x_axis, y_axis);
  for (const auto& points : lines) {
    if (points.size() < 2) continue;
    fmt::format_to(out, "<path d=\"");
    for (size_t i = 0; i < points.size(); ++i) {
      fmt::format_to(out, "{}{:.1f} {:.1f}", i == 0 ? 'M' : 'L', frame.x(points[i].x), frame.y(points[i].y));
    }
    fmt::format_to(out, "\" {}/>\n", stroke_of(plot, index));
  }
  fmt::format_to(out, "</svg>\n");
  for (const auto& points : lines) {
    // A lone point has no line and would be invisible.
    if (!has_markers(series) && points.size() > 1) continue;
    for (const auto& point : points) {
      if (point.y < -1e-9 || point.y > 1 + 1e-9) continue;
      const std::string tip =
          fmt::format("{}: {:.6g}, {:.6g}", series.name, series.x[point.index], series.y[point.index]);
      draw_marker(out, index, frame.x(point.x), frame.y(point.y), escaped_markup(tip));
    }
  }
}

}  // namespace

std::string svg(const Plot& plot) {
  check_plot(plot);
  const Axis horizontal = x_axis(plot, 10), vertical = y_axis(plot, 7);
  size_t label_characters = 1;
  for (const auto& tick : vertical.ticks)
    label_characters = std::max(label_characters, count_characters(tick.label));
  const double left =
      20 + kCharacter * static_cast<double>(label_characters) + (plot.y_label.empty() ? 0 : 18);

  std::string body;
  const Out out(body);
  double top = 12;
  if (!plot.title.empty()) {
    fmt::format_to(
        out, "<text x=\"{:.1f}\" y=\"28\" font-size=\"16\" font-weight=\"600\" fill=\"#111\">{}</text>\n",
        left, escaped_markup(plot.title));
    top = 40;
  }
  top = draw_legend(out, plot, left, top) + 10;
  const Frame frame = {left, top};
  draw_axes(out, plot, frame, horizontal, vertical);
  // Backwards, so that the first series lies on top.
  for (size_t i = plot.series.size(); i-- > 0;) draw_series(out, plot, i, frame, horizontal, vertical);

  const double height = frame.bottom() + (plot.x_label.empty() ? 32 : 54);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "role=\"img\" "
      "font-family=\"system-ui, 'Helvetica Neue', Arial, sans-serif\" font-size=\"12\" fill=\"#333\">\n"
      "<title>{2}</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n{3}</svg>\n",
      kWidth, height, escaped_markup(plot.title), body);
}

void write_svg(const std::string& path, const Plot& plot) {
  const std::string picture = svg(plot);
  io::write_file_atomically(path, [&](io::FileWriter& writer) { writer.write(picture); });
}

}  // namespace lact::eval
