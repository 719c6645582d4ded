#include "lact/eval/html_report.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "lact/eval/markup.h"
#include "lact/io/jpeg.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::eval {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::TemporaryFolder;

Plot loss_plot() {
  Plot plot;
  plot.title = "Loss <per> token & \"more\"";
  plot.x_label = "step";
  plot.series = {{"LaCT", {1, 2, 3}, {3, 2, 1.5}}, {"full", {1, 2, 3}, {3, 2.5, 2}, true}};
  return plot;
}

HtmlReport full_report() {
  HtmlReport report("A & B <script>");
  report.heading("Results <b>");
  report.paragraph("x < y && \"z\" > 'w'\nnext line");
  report.table({"task", "score"}, {{"one & two", "93.25"}, {"<td>", "n/a"}});
  report.figure(loss_plot(), "Lower is better; <i>much</i>.");
  report.figure(loss_plot(), "");
  report.code("\nif (a < b) {\n  c = \"d\";\n}");
  return report;
}

/// The names of the tags that are left open or closed without being open.
std::vector<std::string> unbalanced(const std::string& html) {
  std::vector<std::string> open;
  static const std::regex kTag("<(/?)([A-Za-z0-9]+)([^<>]*)>");
  for (std::sregex_iterator tag(html.begin(), html.end(), kTag), end; tag != end; ++tag) {
    const std::string name = tag->str(2), rest = tag->str(3);
    if (name == "meta" || rest.ends_with('/')) continue;
    if (tag->str(1).empty()) {
      open.push_back(name);
    } else if (!open.empty() && open.back() == name) {
      open.pop_back();
    } else {
      open.push_back("/" + name);
    }
  }
  return open;
}

TEST(HtmlReport, TagsAreBalanced) {
  EXPECT_THAT(unbalanced(full_report().html()), ElementsAre());
  EXPECT_THAT(unbalanced(HtmlReport("").html()), ElementsAre());
  EXPECT_THAT(unbalanced("<p><b></p>"), Not(ElementsAre()));
}

TEST(HtmlReport, IsAWholePageInUtf8) {
  const std::string html = full_report().html();
  EXPECT_THAT(html, StartsWith("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">"));
  EXPECT_THAT(html, HasSubstr("<title>A &amp; B &lt;script&gt;</title>"));
  EXPECT_THAT(html, HasSubstr("<h1>A &amp; B &lt;script&gt;</h1>"));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
}

TEST(HtmlReport, AllTextIsEscaped) {
  const std::string html = full_report().html();
  EXPECT_THAT(html, HasSubstr("<h2>Results &lt;b&gt;</h2>"));
  EXPECT_THAT(html, HasSubstr("<p>x &lt; y &amp;&amp; &quot;z&quot; &gt; &#39;w&#39;\nnext line</p>"));
  EXPECT_THAT(html, HasSubstr("<td>&lt;td&gt;</td>"));
  EXPECT_THAT(html, HasSubstr("<figcaption>Lower is better; &lt;i&gt;much&lt;/i&gt;.</figcaption>"));
  EXPECT_THAT(html, HasSubstr("<pre><code>\nif (a &lt; b) {\n  c = &quot;d&quot;;\n}</code></pre>"));
  for (const char* raw : {"<script", "<b>", "<i>", "<per>"}) EXPECT_THAT(html, Not(HasSubstr(raw)));
}

TEST(HtmlReport, BytesThatAreNotTextDoNotSpoilThePage) {
  HtmlReport report("r");
  report.paragraph(
      std::string("a\0b\x01"
                  "c\xFF"
                  "d \u00FC",
                  10));
  EXPECT_THAT(report.html(), HasSubstr("<p>a b c\uFFFDd \u00FC</p>"));
}

TEST(HtmlReport, LoadsNothingFromElsewhere) {
  const std::string html = full_report().html();
  std::string rest = std::regex_replace(html, std::regex("xmlns=\"http://www.w3.org/2000/svg\""), "");
  for (const char* link : {"http://", "https://", "href", "src=", "url(", "@import"}) {
    EXPECT_THAT(rest, Not(HasSubstr(link)));
  }
}

TEST(HtmlReport, FiguresAreInline) {
  const std::string html = full_report().html();
  EXPECT_THAT(html, HasSubstr("<figure>\n" + svg(loss_plot()) + "<figcaption>"));
  EXPECT_THAT(html, HasSubstr("</svg>\n</figure>"));
}

TEST(HtmlReport, PicturesAreInsideThePage) {
  HtmlReport report("r");
  const at::Tensor image = at::randint(256, {9, 12, 3}, at::kByte);
  report.picture(image, "A <cat>.");
  const std::string html = report.html();
  EXPECT_THAT(html, HasSubstr("<img alt=\"A &lt;cat&gt;.\" src=\"data:image/jpeg;base64,/9j/"));
  EXPECT_THAT(html, HasSubstr(base64(io::encode_jpeg(image, 92)) + "\"/>\n<figcaption>A &lt;cat&gt;."));
  EXPECT_THAT(unbalanced(html), ElementsAre());
  EXPECT_SENTENCE(report.picture(at::zeros({3, 9, 12}), ""), "expected uint8");
}

TEST(HtmlReport, Base64AsInRfc4648) {
  const std::vector<std::pair<std::string, std::string>> examples = {{"", ""},
                                                                     {"f", "Zg=="},
                                                                     {"fo", "Zm8="},
                                                                     {"foo", "Zm9v"},
                                                                     {"foob", "Zm9vYg=="},
                                                                     {"fooba", "Zm9vYmE="},
                                                                     {"foobar", "Zm9vYmFy"},
                                                                     {"\xFB\xFF", "+/8="}};
  for (const auto& [bytes, text] : examples) EXPECT_EQ(base64(bytes), text);
}

TEST(HtmlReport, NumbersAreAlignedToTheRight) {
  HtmlReport report("r");
  report.table({"name", "value"}, {{"a", "1"},
                                   {"b", "-0.5"},
                                   {"c", "1e-3"},
                                   {"d", "12,345"},
                                   {"e", "7 %"},
                                   {"f", "best"},
                                   {"g", ""},
                                   {"h", "-"},
                                   {"i", "4096 x"}});
  const std::string html = report.html();
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\">name</th><th scope=\"col\" class=\"number\">value</th>"));
  for (const char* number : {"1", "-0.5", "1e-3", "12,345", "7 %"}) {
    EXPECT_THAT(html, HasSubstr(std::string("<td class=\"number\">") + number + "</td>"));
  }
  for (const char* text : {"best", "", "-", "4096 x"})
    EXPECT_THAT(html, HasSubstr(std::string("<td>") + text + "</td>"));
}

TEST(HtmlReport, RaggedTableIsASentence) {
  HtmlReport report("r");
  EXPECT_SENTENCE(report.table({"a", "b"}, {{"1", "2"}, {"3"}}), "row 2 of a table has 1 cells, expected 2");
  EXPECT_SENTENCE(report.table({}, {}), "no columns");
  report.table({"a"}, {});
  EXPECT_THAT(unbalanced(report.html()), ElementsAre());
}

TEST(HtmlReport, IsWrittenWholeOrNotAtAll) {
  const TemporaryFolder folder;
  full_report().write(folder / "report.html");
  EXPECT_EQ(testing::read_file(folder / "report.html"), full_report().html());
  EXPECT_THAT(folder.names(), ElementsAre("report.html"));
  EXPECT_SENTENCE(full_report().write(folder / "none/report.html"), "cannot be written");
}

}  // namespace
}  // namespace lact::eval
