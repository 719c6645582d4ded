#include "lact/reproduce/report_markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lact/reproduce/report_parts.h"
#include "support/sample_report.h"

namespace lact::reproduce {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ReportMarkdown, BeginsWithTheVerdicts) {
  const std::string text = report_markdown(testing::sample_report(""));
  EXPECT_THAT(
      text,
      ::testing::StartsWith(
          "# Large-Chunk Test-Time Training in miniature\n\nbudget 2h · 3 seeds · Intel Xeon with AVX-512, 2 "
          "cores · lact 0.1.0, LibTorch 1.13.0 · 2026-11-18\n\n"
          "1 of 4 holds, 2 do not hold, 1 is inconclusive.\n\n| figure or table | claim | verdict |\n"));
  EXPECT_THAT(text, HasSubstr("| [Figure 1a: throughput against chunk size](#fig1a) | Large chunks use"));
  EXPECT_THAT(text, HasSubstr("test-time training. | **holds** |\n"));
  EXPECT_THAT(text, HasSubstr("| [Figure 6a: video](#fig6a) |  | **inconclusive** |\n"));
}

TEST(ReportMarkdown, ASectionHoldsAllItsParts) {
  const std::string text = report_markdown(testing::sample_report("pictures/fig4_1.png"));
  for (const char* part : {
           "<a id=\"fig1a\"></a>\n\n## Figure 1a: throughput against chunk size\n\n> Large chunks use",
           "- **holds**: The largest chunk is at least twice as fast as a chunk of 16\n  - rule: holds if",
           "  - numbers: ratio of the speeds: 6.21\n",
           "In the paper:\n\n- Utilisation on an A100",
           "![Speed of one layer](figures/fig1a_1.svg)",
           "**Best of five runs**\n\n| chunk | tokens per second | share of peak | regime "
           "|\n|---:|---:|---:|---|\n"
           "| 16 | 410 ± 12 | 6.4 % |",
           "](pictures/fig4_1.png)",
           "Notes:\n\n- One layer of width 512",
           "Time: 3 min 32 s of one core.",
           "<summary>2 commands</summary>\n\n```sh\nlact bench chunks --width 512 --tokens 4096 --json\n",
       })
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(ReportMarkdown, AFailedSectionHasItsNoteAlone) {
  const std::string text = report_markdown(testing::sample_report(""));
  EXPECT_EQ(text.substr(text.find("<a id=\"fig6a\">")),
            "<a id=\"fig6a\"></a>\n\n## Figure 6a: video\n\nNotes:\n\n"
            "- lact video train ended with exit code 2: the clips cannot be read.\n\n");
}

TEST(ReportMarkdown, TextIsShownAsItIs) {
  EXPECT_EQ(escaped_markdown("a*b* [c](d) `e` | f\ng <h> & ~~i~~ $j$"),
            "a\\*b\\* \\[c\\](d) \\`e\\` \\| f g &lt;h&gt; &amp; \\~\\~i\\~\\~ \\$j\\$");
  EXPECT_EQ(escaped_markdown("lm_tiny _x_ __"), "lm_tiny \\_x\\_ \\_\\_");
  EXPECT_EQ(escaped_markdown("# no heading"), "\\# no heading");
  const std::string text = report_markdown(testing::sample_report(""));
  EXPECT_THAT(text.substr(0, text.find("<details>", text.find("id=\"fig4\""))), Not(HasSubstr("<img")));
}

TEST(ReportMarkdown, AFenceIsLongerThanWhatItHolds) {
  Report report;
  report.sections.resize(1);
  report.sections[0].id = "a";
  report.sections[0].commands = {"echo ````"};
  EXPECT_THAT(report_markdown(report), HasSubstr("1 command</summary>\n\n`````sh\necho ````\n`````\n"));
}

TEST(ReportParts, ColumnsOfQuantitiesAreFound) {
  const auto quantities = [](std::vector<std::string> cells) {
    Table table = {"", {"a"}, {}};
    for (auto& cell : cells) table.rows.push_back({cell});
    return holds_quantities(table, 0);
  };
  EXPECT_TRUE(quantities({"12", "1.2 ± 0.1", "-3", "−3", "+4", "3.5 ms", "", "–"}));
  EXPECT_FALSE(quantities({"12", "LaCT"}));
  EXPECT_FALSE(quantities({"", "–"}));
  EXPECT_FALSE(quantities({}));
}

}  // namespace
}  // namespace lact::reproduce
