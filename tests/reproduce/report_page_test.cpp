#include "lact/reproduce/report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lact/eval/plot.h"
#include "support/places.h"
#include "support/sample_report.h"
#include "support/temporary_folder.h"

namespace lact::reproduce {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The text of the page's data.
std::string data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"report\">";
  const size_t at = page.find(begin) + begin.size();
  return page.substr(at, page.find("</script>", at) - at);
}

TEST(ReportPage, TheProgramHoldsTheCommittedPage) {
  EXPECT_EQ(empty_report_page(), testing::read_file(testing::source_folder() + "/web/dist/report.html"));
}

TEST(ReportPage, LoadsNothing) {
  const std::string page(empty_report_page());
  EXPECT_THAT(
      page, HasSubstr("content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                      "img-src data:\""));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(::testing::ContainsRegex("(<[a-z]+ src|@import|import)[=( ]")));
}

TEST(ReportPage, NamesTheLicenceOfItsCharts) {
  EXPECT_THAT(std::string(empty_report_page()), HasSubstr("Leon Sorokin"));
}

TEST(ReportPage, HoldsTheReportAndWhatFollowsFromIt) {
  const testing::TemporaryFolder folder;
  testing::write_file(folder / "a.png", "\x89PNG\r\n\x1a\n");
  const std::string page = report_page(testing::sample_report("a.png"), folder / ".");
  const options::Json json = options::Json::parse(data_of(page));
  EXPECT_EQ(json["title"], "Large-Chunk Test-Time Training in miniature");
  EXPECT_EQ(json["tally"], "1 of 4 holds, 2 do not hold, 1 is inconclusive");
  EXPECT_EQ(json["sections"][0]["verdict"], "holds");
  EXPECT_EQ(json["sections"][0]["time"], "3 min 32 s");
  EXPECT_EQ(json["sections"][0]["tables"][0]["quantities"].dump(), "[true,true,true,false]");
  EXPECT_EQ(json["sections"][1]["pictures"][0]["address"], "data:image/png;base64,iVBORw0KGgo=");
  EXPECT_EQ(json["sections"][1]["claim"],
            "More input views give better pictures: " + testing::kMarkupLikeText);
  EXPECT_TRUE(json["sections"][0]["charts"][0]["lines"][1]["y"][3].is_null());
}

TEST(ReportPage, TextCannotLeaveItsPlace) {
  const std::string page = report_page(testing::sample_report(""), ".");
  EXPECT_THAT(data_of(page), Not(HasSubstr("<")));
  EXPECT_THAT(page, Not(HasSubstr("<img src=x")));
}

TEST(ReportPage, UsesTheColoursOfThePlots) {
  eval::Plot plot;
  for (int i = 0; i < 7; ++i) plot.series.push_back({"line", {0, 1}, {0, 1}});
  const std::string picture = eval::svg(plot), page(empty_report_page());
  for (int i = 1; i <= 7; ++i) {
    const std::string name = "--series-" + std::to_string(i) + ": ";
    const std::string colour = page.substr(page.find(name) + name.size(), 7);
    EXPECT_THAT(picture, HasSubstr("stroke=\"" + colour + "\"")) << name;
  }
}

}  // namespace
}  // namespace lact::reproduce
