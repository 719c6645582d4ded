#include "lact/eval/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include "lact/base/error.h"
#include "lact/eval/plot_axis.h"
#include "support/temporary_folder.h"

namespace lact::eval {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::TemporaryFolder;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Plot one_line(std::vector<double> x, std::vector<double> y) {
  Plot plot;
  plot.title = "Loss";
  plot.series = {{"line", std::move(x), std::move(y)}};
  return plot;
}

/// What stands between each `begin` and the `end` that follows it.
std::vector<std::string> between(const std::string& text, const std::string& begin, const std::string& end) {
  std::vector<std::string> found;
  for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    found.push_back(text.substr(at, text.find(end, at) - at));
  }
  return found;
}

size_t count(const std::string& text, const std::string& word) { return between(text, word, "").size(); }

/// Lines of the series; the legend's samples are horizontal moves of 26 px.
size_t count_lines(const std::string& svg) { return count(svg, "fill=\"none\"") - count(svg, "h26\""); }

size_t count_markers(const std::string& svg) { return count(svg, "<path transform=\"translate("); }

/// Whether every tag is closed by its own end tag.
bool tags_nest(const std::string& svg) {
  std::vector<std::string> open;
  for (const auto& tag : between(svg, "<", ">")) {
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  return open.empty();
}

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> result;
  for (const auto& tick : axis.ticks) result.push_back(tick.label);
  return result;
}

Plot log_line(std::vector<double> x) {
  Plot plot = one_line(x, std::vector<double>(x.size(), 1.0));
  plot.log_x = true;
  return plot;
}

TEST(PlotAxis, TicksAreRoundNumbers) {
  EXPECT_THAT(labels(x_axis(one_line({0, 20'000}, {0, 1}), 10)), ElementsAre("0", "5k", "10k", "15k", "20k"));
  EXPECT_THAT(labels(x_axis(one_line({0.1, 0.52}, {0, 1}), 6)),
              ElementsAre("0.1", "0.2", "0.3", "0.4", "0.5"));
  EXPECT_THAT(labels(y_axis(one_line({0, 1}, {2.31, 3.05}), 6)),
              ElementsAre("2.2", "2.4", "2.6", "2.8", "3.0", "3.2"));
  EXPECT_THAT(labels(y_axis(one_line({0, 1}, {-3e6, 1.2e6}), 6)),
              ElementsAre("-3M", "-2M", "-1M", "0", "1M", "2M"));
}

TEST(PlotAxis, RangesThatFitAreNotMadeLonger) {
  EXPECT_EQ(x_axis(one_line({0, 9}, {0, 1}), 10).ticks.size(), 10u);  // a step of exactly 1
  const Axis axis = y_axis(one_line({0, 1}, {0, 6}), 7);
  EXPECT_EQ(axis.low, 0);
  EXPECT_EQ(axis.high, 6);
  EXPECT_THAT(labels(axis), ElementsAre("0", "1", "2", "3", "4", "5", "6"));
}

TEST(PlotAxis, WholeNumbersGetWholeTicks) {
  EXPECT_THAT(labels(x_axis(one_line({1, 2, 3}, {0, 0, 0}), 10)), ElementsAre("1", "2", "3"));
}

TEST(PlotAxis, PowersOfTwoAreLabelledAsSuch) {
  EXPECT_THAT(labels(x_axis(log_line({512, 1024, 4096}), 10)), ElementsAre("512", "1024", "2048", "4096"));
  EXPECT_THAT(labels(x_axis(log_line({1, 65536}), 5)), ElementsAre("1", "16", "256", "4096", "65536"));
}

TEST(PlotAxis, OtherLogarithmicAxesUsePowersOfTen) {
  EXPECT_THAT(labels(x_axis(log_line({1, 3, 1000}), 6)), ElementsAre("1", "10", "100", "1000"));
  EXPECT_THAT(labels(x_axis(log_line({3, 70}), 10)), ElementsAre("5", "10", "20", "50"));
  EXPECT_THAT(labels(x_axis(log_line({0.001, 0.02}), 10)),
              ElementsAre("0.001", "0.002", "0.005", "0.01", "0.02"));
}

TEST(PlotAxis, TicksAreFewAscendingAndInsideForAnyRange) {
  for (const double low : {0.0, -1e300, -7.3, 1e-310, 1e-300, 3.3e-7, 0.999999, 1e16, 2.5e299}) {
    for (const double span : {0.0, 1e-310, 1e-9, 0.37, 1.0, 12345.6, 1e17, 1e300}) {
      for (const bool log_x : {false, true}) {
        Plot plot = one_line({low, std::min(low + span, 1e300)}, {low, std::min(low + span, 1e300)});
        plot.log_x = log_x;
        for (const Axis& axis : {x_axis(plot, 8), y_axis(plot, 8)}) {
          SCOPED_TRACE(fmt::format("{} + {}, log {}", low, span, log_x));
          ASSERT_LT(axis.low, axis.high);
          EXPECT_LE(axis.ticks.size(), 10u);
          for (size_t i = 0; i < axis.ticks.size(); ++i) {
            const double fraction = axis.fraction(axis.ticks[i].value);
            EXPECT_GT(fraction, -1e-6);
            EXPECT_LT(fraction, 1 + 1e-6);
            if (i > 0) {
              EXPECT_GT(axis.ticks[i].value, axis.ticks[i - 1].value);
            }
          }
        }
      }
    }
  }
}

TEST(PlotAxis, AGivenRangeIsKept) {
  Plot plot = one_line({0, 1}, {0.2, 0.7});
  plot.y_min = 0.13;
  EXPECT_EQ(y_axis(plot, 6).low, 0.13);
  plot.y_max = 0.5;
  EXPECT_EQ(y_axis(plot, 6).high, 0.5);
  plot.y_min = 5, plot.y_max.reset();  // above all of the data
  EXPECT_EQ(y_axis(plot, 6).low, 5);
  EXPECT_GT(y_axis(plot, 6).high, 5);
}

TEST(PlotSvg, HoldsTitleLabelsAndLegend) {
  Plot plot = one_line({0, 1}, {0, 1});
  plot.x_label = "step";
  plot.y_label = "nats";
  const std::string picture = svg(plot);
  for (const char* text : {">Loss</text>", ">step</text>", ">nats</text>", ">line</text>"}) {
    EXPECT_THAT(picture, HasSubstr(text));
  }
  EXPECT_THAT(picture, HasSubstr("width=\"720\""));
  EXPECT_TRUE(tags_nest(picture));
}

TEST(PlotSvg, TextIsEscaped) {
  Plot plot = one_line({0, 1}, {0, 1});
  plot.title = "a < b & \"c\"\x01";
  plot.series[0].name = "</svg><script>";
  plot.x_label = "bad \xff byte";
  const std::string picture = svg(plot);
  EXPECT_THAT(picture, HasSubstr("a &lt; b &amp; &quot;c&quot; <"));
  EXPECT_THAT(picture, HasSubstr("&lt;/svg&gt;&lt;script&gt;"));
  EXPECT_THAT(picture, HasSubstr("bad \xef\xbf\xbd byte"));
  EXPECT_THAT(picture, Not(HasSubstr("<script")));
  EXPECT_TRUE(tags_nest(picture));
}

TEST(PlotSvg, PointsThatAreNotFiniteBreakTheLine) {
  EXPECT_EQ(count_lines(svg(one_line({0, 1, 2, 3}, {0, 1, 2, 3}))), 1u);
  EXPECT_EQ(count_lines(svg(one_line({0, 1, 2, 3, 4}, {0, 1, kNan, 3, 4}))), 2u);
  EXPECT_EQ(count_lines(svg(one_line({0, 1, 2, 3, 4}, {0, 1, kInfinity, 3, 4}))), 2u);
  EXPECT_EQ(count_lines(svg(one_line({0, 1, kNan, 3, 4}, {0, 1, 2, 3, 4}))), 2u);
  Plot logarithmic = one_line({-1, 0, 1, 2}, {0, 1, 2, 3});
  logarithmic.log_x = true;
  EXPECT_EQ(count_markers(svg(logarithmic)), 2u + 1u);  // two points and the legend
}

TEST(PlotSvg, APointBetweenGapsIsStillVisibleInALongSeries) {
  std::vector<double> x(200), y(200, 1.0);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  EXPECT_EQ(count_markers(svg(one_line(x, y))), 0u);
  y[99] = y[101] = kNan;
  EXPECT_EQ(count_markers(svg(one_line(x, y))), 1u);
}

TEST(PlotSvg, TheSpreadIsAnAreaFromHighToLow) {
  Plot plot = one_line({0, 1, 2}, {1, 2, 1});
  plot.y_min = 0, plot.y_max = 3;
  EXPECT_THAT(svg(plot), Not(HasSubstr("fill-opacity")));
  plot.series[0].low = {0, 1, 0};
  plot.series[0].high = {3, 3, 3};
  const std::string picture = svg(plot);
  EXPECT_EQ(count(picture, "fill-opacity"), 1u);
  const size_t end = picture.find("z\" fill=\"#0072B2\" fill-opacity"), begin = picture.rfind("M", end) + 1;
  ASSERT_NE(end, std::string::npos);
  std::istringstream area(picture.substr(begin, end - begin));
  std::vector<double> x, y;
  for (double a, b; area >> a >> b;) x.push_back(a), y.push_back(b);
  ASSERT_EQ(x.size(), 6u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(x[i], x[5 - i]);
  EXPECT_LT(x[0], x[1]);
  EXPECT_NEAR(y[4] - y[1], 200, 0.2);  // two of three units of the area's 300 px
  EXPECT_NEAR(y[5] - y[0], 300, 0.2);
  EXPECT_TRUE(tags_nest(picture));
}

TEST(PlotSvg, TheSpreadWidensTheAxisAndBreaksWhereItIsMissing) {
  Plot plot = one_line({0, 1, 2, 3, 4}, {1, 1, 1, 1, 1});
  plot.series[0].low = {-4, 1, kNan, 1, 1};
  plot.series[0].high = {1, 1, 1, 1, 9};
  EXPECT_LE(y_axis(plot, 6).low, -4);
  EXPECT_GE(y_axis(plot, 6).high, 9);
  const std::string picture = svg(plot);
  EXPECT_EQ(count(picture, "fill-opacity"), 2u);
  EXPECT_EQ(count_lines(picture), 1u);
  EXPECT_THAT(picture, Not(HasSubstr("nan")));
}

TEST(PlotSvg, MarkersOutsideOfAGivenRangeAreLeftOut) {
  Plot plot = one_line({0, 1, 2}, {0, 10, 0.5});
  plot.y_min = 0, plot.y_max = 1;
  EXPECT_EQ(count_markers(svg(plot)), 2u + 1u);
}

TEST(PlotSvg, SeriesDifferInColourAndMarkerAndDashes) {
  Plot plot;
  for (int i = 0; i < 12; ++i) plot.series.push_back({fmt::format("series {}", i), {0, 1}, {0, 1.0 * i}});
  plot.series[3].dashed = true;
  const std::string picture = svg(plot);
  const auto looks = between(picture, ")\" d=", "stroke=\"#fff\"");
  EXPECT_EQ(std::set<std::string>(looks.begin(), looks.end()).size(), 12u);
  EXPECT_EQ(count(picture, "stroke-dasharray"), 2u);  // line and legend
  EXPECT_TRUE(tags_nest(picture));
}

TEST(PlotSvg, NoNumberIsEverNan) {
  std::vector<Plot> plots = {Plot{},
                             one_line({}, {}),
                             one_line({kNan}, {1}),
                             one_line({3}, {4}),
                             one_line({0, 0}, {0, 0}),
                             one_line({1e300, -1e300}, {-1e300, 1e300}),
                             one_line({0, 1}, {1e308, 1e-320})};
  plots[3].y_min = 10;
  for (Plot& plot : plots) {
    for (const bool log_x : {false, true}) {
      plot.log_x = log_x;
      plot.title.clear();
      const std::string picture = svg(plot);
      EXPECT_THAT(picture, Not(HasSubstr("nan")));
      EXPECT_THAT(picture, Not(HasSubstr("inf")));
      EXPECT_TRUE(tags_nest(picture));
      EXPECT_THAT(terminal_chart(plot, 60, 10), Not(HasSubstr("nan")));
    }
  }
}

TEST(PlotSvg, MistakesAreNamed) {
  EXPECT_THAT(testing::sentence_of<Error>([] {
                svg(one_line({0, 1}, {0}));
              }),
              HasSubstr("series \"line\" has 2 x values but 1 y values"));
  Plot band = one_line({0, 1}, {0, 1});
  band.series[0].low = {0, 0};
  EXPECT_THAT(testing::sentence_of<Error>([&] { svg(band); }), HasSubstr("has 0 high values but 2 y values"));
  band.series[0].low = band.series[0].high = {0};
  EXPECT_THAT(testing::sentence_of<Error>([&] { svg(band); }), HasSubstr("has 1 low values but 2 y values"));
  Plot plot = one_line({0, 1}, {0, 1});
  plot.y_min = 1, plot.y_max = 1;
  EXPECT_THAT(testing::sentence_of<Error>([&] { svg(plot); }), HasSubstr("the y range is 1 to 1"));
  plot.y_min = kNan;
  EXPECT_THAT(testing::sentence_of<Error>([&] { terminal_chart(plot, 60, 10); }),
              HasSubstr("expected a finite number"));
}

TEST(PlotSvg, IsWrittenWholeOrNotAtAll) {
  TemporaryFolder folder;
  const Plot plot = one_line({0, 1}, {0, 1});
  EXPECT_THROW(write_svg(folder / "missing/a.svg", plot), Error);
  EXPECT_THAT(folder.names(), IsEmpty());
  write_svg(folder / "a.svg", plot);
  EXPECT_THAT(folder.names(), ElementsAre("a.svg"));
  EXPECT_EQ(testing::read_file(folder / "a.svg"), svg(plot));
}

std::vector<std::string> rows_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> rows;
  for (std::string row; std::getline(stream, row);) rows.push_back(row);
  return rows;
}

TEST(TerminalChart, ShowsRisingAndFallingLinesWithTheirLetters) {
  Plot plot;
  plot.series = {{"up", {0, 10}, {0, 1}}, {"down", {0, 10}, {1, 0}}};
  EXPECT_EQ(terminal_chart(plot, 40, 5),
            "1.0 | b....                        ....a\n"
            "    |      ........        ........\n"
            "0.5 |              ........\n"
            "    |      ........        ........\n"
            "  0 | a....                        ....b\n"
            "    +-+----------------+---------------+\n"
            "      0                5              10\n"
            "  a up\n"
            "  b down\n");
}

TEST(TerminalChart, FitsTheWidthAndHeight) {
  Plot plot = one_line({1, 10, 1e6}, {-1234.5, 0, 99'999});
  for (const int width : {0, 40, 41, 80, 133}) {
    for (const int height : {0, 5, 12, 40}) {
      const auto rows = rows_of(terminal_chart(plot, width, height));
      EXPECT_EQ(rows.size(), static_cast<size_t>(1 + std::max(height, 5) + 2 + 1));
      for (const auto& row : rows) EXPECT_LE(row.size(), static_cast<size_t>(std::max(width, 40))) << row;
    }
  }
}

TEST(TerminalChart, BreaksTheLineAtMissingPoints) {
  const std::string chart = terminal_chart(one_line({0, 1, 2, 3}, {1, 1, kNan, 1}), 60, 5);
  EXPECT_EQ(count(chart, "a."), 1u);
  EXPECT_EQ(count(chart, ".a"), 1u);
}

}  // namespace
}  // namespace lact::eval
