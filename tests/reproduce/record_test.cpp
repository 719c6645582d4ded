// What is recorded of a whole suite is in suite_test.cpp.
#include "lact/reproduce/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::reproduce {
namespace {

using lact::testing::TemporaryFolder;
using lact::testing::write_file;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RecordOfCurves, LongCurvesBecomeMeans) {
  eval::Curve curve;
  for (int i = 1; i <= 10; ++i) {
    curve.step.push_back(i);
    curve.value.push_back(i);
  }
  const eval::Curve kept = thinned(curve, 5);
  EXPECT_THAT(kept.step, ElementsAre(2, 4, 6, 8, 10));
  EXPECT_THAT(kept.value, ElementsAre(1.5, 3.5, 5.5, 7.5, 9.5));
  EXPECT_EQ(thinned(curve, 10).value, curve.value);
}

std::string record_of(const std::string& id, const std::string& machine, const std::string& more = "") {
  return R"({"budget": "2h", "seeds": 3, "machine": ")" + machine +
         R"(", "version": "lact 0.1", "date": "2026",
    "section": {"id": ")" +
         id + R"(", "title": "Figure", "claim": "It holds.",
      "findings": [{"statement": "a", "rule": "b", "because": "c", "verdict": "holds"}])" +
         more + R"(},
    "steps": [{"id": "anything"}]})";
}

TEST(RecordedReport, GathersWhatRanAtSeveralTimesAndPlaces) {
  const TemporaryFolder folder;
  write_file(folder / "fig9.json", record_of("fig9", "one"));
  write_file(folder / "fig2.json", record_of("fig2", "one"));
  write_file(folder / "fig1.json",
             record_of("fig1", "other", R"(, "pictures": [{"file": "/etc/hostname", "caption": "p"}],
               "charts": [{"lines": [{"name": "l", "x": [1, 2], "y": [3, null]}]}])"));
  write_file(folder / "notes.md", "no record");
  const Report report = read_records(folder / "", {"fig2", "fig1"});
  ASSERT_EQ(report.sections.size(), 3u);
  EXPECT_EQ(report.sections[0].id, "fig2");
  EXPECT_EQ(report.sections[1].id, "fig1");
  EXPECT_EQ(report.sections[2].id, "fig9") << "one that is not known comes last";
  EXPECT_EQ(report.budget, "2h");
  EXPECT_EQ(report.machine, "") << "there were two";
  EXPECT_EQ(report.sections[0].verdict(), Verdict::holds);
  EXPECT_THAT(report.sections[1].notes, Contains(HasSubstr("3 seeds · other · lact 0.1")));
  EXPECT_TRUE(report.sections[1].pictures.empty()) << "a record names no files of this machine";
  EXPECT_THAT(report.sections[1].notes, Contains(HasSubstr("pictures are not part")));
  EXPECT_TRUE(std::isnan(report.sections[1].charts[0].lines[0].y[1]));
}

TEST(RecordedReport, MistakesNameFileAndField) {
  const TemporaryFolder folder;
  EXPECT_SENTENCE(read_records(folder / "none", {}), "none: there is no such folder");
  EXPECT_SENTENCE(read_records(folder / "", {"fig2"}),
                  "nothing is recorded there, expected files such as fig2");
  write_file(folder / "a.json", "{}");
  EXPECT_SENTENCE(read_records(folder / "", {}), "a.json: it has no field section");
  write_file(folder / "a.json", record_of("a", "m", R"(, "charts": [{"lines": [{"x": [1], "y": []}]}])"));
  EXPECT_SENTENCE(read_records(folder / "", {}), "a.json: sections.0.charts.0.lines.0.y has 0 values");
  write_file(folder / "a.json", record_of("a", "m", R"(, "titel": 1)"));
  EXPECT_SENTENCE(read_records(folder / "", {}), "titel");
}

}  // namespace
}  // namespace lact::reproduce
