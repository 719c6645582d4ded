#include "lact/reproduce/section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lact/base/error.h"
#include "support/sample_report.h"
#include "support/temporary_folder.h"

namespace lact::reproduce {
namespace {

using ::testing::HasSubstr;

Section with(std::initializer_list<Verdict> verdicts) {
  Section section;
  for (const Verdict verdict : verdicts) section.findings.push_back({"", "", "", verdict});
  return section;
}

std::string complaint(const Section& section) {
  return testing::sentence_of<Error>([&] { check_section(section, "sections.3"); });
}

TEST(Section, HoldsIfEveryFindingDoesAndFailsIfOneDoes) {
  using enum Verdict;
  EXPECT_EQ(with({holds, holds}).verdict(), holds);
  EXPECT_EQ(with({holds, inconclusive}).verdict(), inconclusive);
  EXPECT_EQ(with({holds, inconclusive, does_not_hold}).verdict(), does_not_hold);
  EXPECT_EQ(with({}).verdict(), inconclusive);
}

TEST(Section, IsReadBackFromItsJson) {
  for (const Section& section : testing::sample_report("").sections) {
    const options::Json json = options::write(section);
    Section again;
    options::read(json, again);
    EXPECT_EQ(options::write(again).dump(), json.dump());
  }
}

TEST(Section, LengthsThatDoNotFitAreNamed) {
  Section section;
  section.id = "fig1a";
  EXPECT_EQ(complaint(section), "");
  section.charts.resize(2);
  section.charts[1].lines = {{.name = "a", .x = {1, 2}, .y = {1}, .low = {}, .high = {}}};
  EXPECT_EQ(complaint(section), "sections.3.charts.1.lines.0.y has 1 values, expected 2, as many as x");
  section.charts[1].lines[0].y = {1, 2};
  section.charts[1].lines[0].low = {1, 2};
  EXPECT_THAT(complaint(section), HasSubstr("lines.0.high has 0 values, expected 2, as many as low"));
  section.charts[1].lines[0].low = section.charts[1].lines[0].high = {1};
  EXPECT_THAT(complaint(section), HasSubstr("lines.0.low has 1 values, expected none or 2, as many as y"));
  section.charts.clear();
  section.tables = {{"", {"a", "b"}, {{"1", "2"}, {"3"}}}};
  EXPECT_EQ(complaint(section), "sections.3.tables.0.rows.1 has 1 cells, expected 2 as in the header");
}

TEST(Section, AnIdIsPartOfFileNames) {
  Section section;
  for (const char* id : {"", "../x", "a b", "a.b"}) {
    section.id = id;
    EXPECT_THAT(complaint(section), HasSubstr("expected letters, digits, _ and -")) << id;
  }
}

}  // namespace
}  // namespace lact::reproduce
